"""Claims of Thrampoulidis (2024) on three optimizers and overparameterised data, Appendix A.2."""

import math
from collections.abc import Iterator
from functools import partial

import numpy as np
import pandas as pd

from experiments.harness.claims import greater, level, trend
from experiments.harness.judging import Claim
from experiments.harness.tables import Where, select
from experiments.ntp_convergence.run import DECADES

SOURCE = "Thrampoulidis 2024, Appendix A.2, Figures 4 and 5"
NAMES = {"gd": "GD", "ngd": "NGD", "adam": "Adam"}
PAPER_STEPS = 10_000  # of the paper; methods are compared there
AFTER = f"after {PAPER_STEPS:,} steps"
_trend = partial(trend, along="num_steps", position=math.log10, source=SOURCE)


def derived(results: pd.DataFrame) -> pd.DataFrame:
    """With logarithms where factors count, and both cosines as one metric of two decoders."""
    parts = [results]
    for metric in ("excess_loss", "finite_error"):
        rows = select(results, {}, metric)
        parts.append(rows.assign(metric=f"log10_{metric}", value=np.log10(rows["value"])))
    for metric, decoder in (("cosine", "W"), ("cosine_minus_finite", "W - W*")):
        rows = select(results, {}, metric)
        parts.append(rows.assign(metric="cosine_of", decoder=decoder))
    return pd.concat(parts)


def _run(method: str, data: str = "probabilities") -> Where:
    return {"optimizer": method, "data": data}


def _at(method: str, data: str = "probabilities") -> Where:
    return {**_run(method, data), "num_steps": PAPER_STEPS}


def _same_bias(method: str, decades: tuple[int, ...]) -> Iterator[Claim]:
    name, last = NAMES[method], decades[-1]
    where = {**_run(method), "num_steps": decades}
    steps = ", ".join(f"{step:,}" for step in decades)
    yield _trend(
        f"{name} turns towards W_mm (cosine after {steps} steps; slope per decade)",
        "cosine",
        where,
        rising=True,
        paper="rises towards 1, values only drawn",
    )
    yield level(
        f"{name} has nearly the direction of W_mm after {last:,} steps (cosine)",
        "cosine",
        {**_run(method), "num_steps": last},
        at_least=0.9,
        paper="near 1, values only drawn",
        source=SOURCE,
    )
    text = f"The norm of W grows with {name} ({steps} steps; slope per decade)"
    yield _trend(text, "norm", where, rising=True, paper="diverges")
    yield _trend(
        f"The cross-entropy of {name} falls towards H (log10 of CE - H after {steps} "
        "steps; slope per decade)",
        "log10_excess_loss",
        where,
        rising=False,
        paper="converges to H",
    )


def _finite_part(method: str, data: str, decades: tuple[int, ...]) -> Claim:
    steps = ", ".join(f"{step:,}" for step in decades)
    name = NAMES[method] + (" on counts" if data == "counts" else "")
    return _trend(
        f"P_F W approaches W* with {name} (log10 of the distance after {steps} steps; "
        "slope per decade)",
        "log10_finite_error",
        {**_run(method, data), "num_steps": decades},
        rising=False,
        paper="tends to 0",
    )


def _speed(better: str, worse: str, how: str, data: str = "probabilities") -> Iterator[Claim]:
    on = " on counts" if data == "counts" else ""
    text = f"{NAMES[better]}{on} is {how} than {NAMES[worse]}{on}"
    first, second = _at(better, data), _at(worse, data)
    for metric, words in (("cosine", "cosine of W"), ("cosine_minus_finite", "cosine of W - W*")):
        words = f"{text} ({words} {AFTER})"
        yield greater(words, metric, first, second, paper=how, source=SOURCE)
    words = f"{text} (log10 of CE - H {AFTER})"
    yield greater(words, "log10_excess_loss", second, first, paper=how, source=SOURCE)


def _finite_part_hides(method: str) -> Claim:
    return greater(
        f"Without its finite part {NAMES[method]} is nearer to W_mm (cosines of W - W* and of W "
        f"{AFTER})",
        "cosine_of",
        {**_at(method), "decoder": "W - W*"},
        {**_at(method), "decoder": "W"},
        paper="larger, values only drawn",
        source=SOURCE,
    )


def _margins() -> Iterator[Claim]:
    text = (
        f"After {PAPER_STEPS:,} steps gradient descent does not separate yet (margin of "
        "P_⊥W over γ), whatever its cosine"
    )
    yield level(text, "margin_ratio", _at("gd"), at_most=0.0, paper="not reported")
    text = f"... though its cosine with W_mm is above 0.9 {AFTER}"
    yield level(text, "cosine", _at("gd"), at_least=0.9, paper="near 1, values only drawn")
    text = f"After {PAPER_STEPS:,} steps Adam has the larger Frobenius margin than NGD"
    yield greater(text, "margin_ratio", _at("adam"), _at("ngd"), paper="not reported")
    text = (
        f"After {PAPER_STEPS:,} steps gradient descent has the larger margin where "
        "no token of a support is rarer than 1 in 100"
    )
    yield greater(text, "margin_ratio", _at("gd", "counts"), _at("gd"), paper="not reported")


def _claims(decades: tuple[int, ...]) -> list[Claim]:
    return [
        *(claim for method in NAMES for claim in _same_bias(method, decades)),
        *(_finite_part(m, data, decades) for data in ("probabilities", "counts") for m in NAMES),
        *_speed("ngd", "gd", "faster"),
        *_speed("adam", "gd", "faster"),
        *_speed("adam", "ngd", "slightly faster"),
        *_speed("adam", "ngd", "slightly faster", "counts"),
        *map(_finite_part_hides, NAMES),
        *_margins(),
    ]


CLAIMS = {scale: _claims(DECADES[scale][-3:]) for scale in ("cpu", "paper")}
