"""Optimisers on the same problems, measured against the max-margin matrices of three norms."""

import math
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np

from el_jax.checkpoints.manifest import config_hash
from el_jax.linear_ntp import NTPProblem, random_problem, run_trajectory, smoothness_bound
from el_jax.linear_ntp.max_margin import max_margin
from el_jax.linear_ntp.norms import Norm
from el_jax.runtime.compilation import use_compilation_cache
from experiments.results import CurveRow, ResultRow
from experiments.shards import WHOLE, Shard
from experiments.tables import write_tables

TITLE = "Whose max margin does each optimiser lean to? (Fan et al. 2025, and beyond one-hot data)"

NORMS: tuple[Norm, ...] = ("frobenius", "max", "spectral")
OWN_NORM: dict[str, Norm] = {  # of which a method takes steps of steepest descent
    "gd": "frobenius",
    "ngd": "frobenius",
    "sign": "max",
    "adam": "max",
    "spectral": "spectral",
    "muon": "spectral",
}
STEP_SIZES = {"ngd": 0.1, "sign": 0.1, "adam": 0.1, "spectral": 0.05, "muon": 0.05}
DECAY = 0.5  # of all but gradient descent, whose step is constant, 1 / (2 L)
SUPPORT_SIZES = (1, 3)
SHAPES = {  # m, d, V, steps, problems
    "smoke": (6, 8, 5, 200, 2),
    "quick": (20, 24, 8, 2_000, 5),
    "cpu": (20, 24, 8, 20_000, 20),
    "paper": (20, 24, 8, 1_000_000, 100),
}
GAP = 1e-3  # to which the three max margins are solved


def setting_name(method: str, support_size: int) -> str:
    """The name of a setting in tables, such as ``sign, S=1``."""
    return f"{method}, S={support_size}"


def run(scale: str, out: Path, shard: Shard = WHOLE) -> None:
    """Train, measure and write the tables."""
    use_compilation_cache()
    num_contexts, dim, vocab_size, num_steps, num_seeds = SHAPES[scale]
    results: list[ResultRow] = []
    curves: list[CurveRow] = []
    names = [setting_name(method, S) for S in SUPPORT_SIZES for method in OWN_NORM]
    seconds = dict.fromkeys(names, 0.0)
    for support_size in SUPPORT_SIZES:
        for seed in shard.take(range(num_seeds)):
            problem = random_problem(num_contexts, dim, vocab_size, support_size, seed=seed)
            w_mm = {str(norm): max_margin(problem, norm, tolerance=GAP).w for norm in NORMS}
            for method in OWN_NORM:
                started = time.monotonic()
                name = setting_name(method, support_size)
                steps, metrics = _train(problem, method, num_steps, w_mm)
                results += [ResultRow(name, seed, *row) for row in _final(method, metrics)]
                curves += _course(method, name, seed, steps, metrics)
                seconds[name] += time.monotonic() - started
            print(f"S={support_size}, problem {seed + 1} of {num_seeds}", flush=True)
    shared = {"shape": SHAPES[scale], "step_sizes": STEP_SIZES, "decay": DECAY}
    hashes = {name: config_hash(shared | {"setting": name}) for name in names}
    write_tables(
        "ntp_optimizers", scale, out, results=results, curves=curves, config_hashes=hashes,
        wall_seconds=seconds,
    )  # fmt: skip


def _train(
    problem: NTPProblem, method: str, num_steps: int, w_mm: Mapping[str, np.ndarray]
) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """The course of one run from zero, at 13 log-spaced marks."""
    constant = method not in STEP_SIZES
    ran = run_trajectory(
        problem,
        method,
        0.5 / smoothness_bound(problem) if constant else STEP_SIZES[method],
        num_steps,
        decay=0.0 if constant else DECAY,
        num_marks=13,
        w_mm=w_mm,
    )
    return ran.steps, ran.metrics


def _final(method: str, metrics: Mapping[str, np.ndarray]) -> Iterator[tuple[str, float]]:
    """The numbers of the last mark that results.csv keeps."""
    last = {name: float(values[-1]) for name, values in metrics.items()}
    for norm in NORMS:
        yield f"margin_ratio_{norm}", last[f"margin_ratio_{norm}"]
        yield f"cosine_across_{norm}", last[f"cosine_across_{norm}"]
    for kind in ("margin_ratio", "cosine_across"):
        yield f"{kind}_own_lead", _lead(last, kind, OWN_NORM[method])
    yield "log10_excess_loss", math.log10(last["excess_loss"])
    yield "finite_error", last["finite_error"]


def _lead(last: Mapping[str, float], kind: str, own: Norm) -> float:
    """The excess of the value in one norm over the larger of the values in the other two."""
    return last[f"{kind}_{own}"] - max(last[f"{kind}_{norm}"] for norm in NORMS if norm != own)


def _course(
    method: str, name: str, seed: int, steps: np.ndarray, metrics: Mapping[str, np.ndarray]
) -> Iterator[CurveRow]:
    """Excess loss and own margin ratio along training; W = 0, the first mark, has no margin."""
    own = f"margin_ratio_{OWN_NORM[method]}"
    for kept, metric in (("excess_loss", "excess_loss"), ("margin_ratio_own", own)):
        for step, value in zip(steps[1:], metrics[metric][1:], strict=True):
            yield CurveRow(name, seed, int(step), kept, float(value))
