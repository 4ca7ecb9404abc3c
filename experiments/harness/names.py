"""Names of settings for terminals and figures, made from factors and never parsed."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

SYMBOLS = {"lam": "λ", "b": "b", "peak_lr": "η", "b2": "β₂", "weight_decay": "wd", "smoothing": "ε"}
"""Factors written as ``symbol=value``, with the papers' symbols."""

SHARES = (
    "_accuracy",
    "_copies",
    "_undoes_shift",
    "_exact_match",
    "coverage",
    "within_3",
    "small_margins",
)


MATTERS = 0.05
"""The least difference of shares that matters, unless a claim names another."""


def ends_of(metric: str) -> tuple[float, float]:
    """The range of a metric: 0 to 1 if its name is that of a share."""
    return (0.0, 1.0) if metric.endswith(SHARES) else (-math.inf, math.inf)


def least_that_matters(metric: str) -> float:
    """``MATTERS`` if the metric's name is that of a share, else 0: no difference is too small."""
    return MATTERS if metric.endswith(SHARES) else 0.0


def level_name(level: object) -> str:
    """A level as ``--only`` names it: 1.0 is 1, since a table read back may hold either."""
    if not isinstance(level, float):
        return str(level)
    return str(int(level)) if level.is_integer() else f"{level:g}"


def loss_name(loss: str) -> str:
    """``E1`` for ``e1``, ``cross-entropy`` for ``cross_entropy``."""
    return loss.upper() if loss in ("e1", "e2", "e3") else loss.replace("_", "-")


def name_of(factors: Mapping[str, Any]) -> str:
    """The name of a setting, such as ``E1 λ=2 η=0.003, warm-up, width 32``.

    The loss comes first, with all numbers that have a symbol; ``warmup_steps`` is shown only as
    present or absent; a level that is a word appears as it is. Several levels in a tuple, of which
    None is the absent one, give one name for each, joined by "or".
    """
    for factor, levels in factors.items():
        if isinstance(levels, tuple):
            each = [{**factors, factor: level} for level in levels]
            return " or ".join(map(name_of, each))
    factors = {factor: level for factor, level in factors.items() if level is not None}
    first = [loss_name(factors["loss"])] if "loss" in factors else []
    first += [f"{sign}={factors[key]:g}" for key, sign in SYMBOLS.items() if key in factors]
    rest = []
    for factor, value in factors.items():
        if factor == "warmup_steps":
            rest += ["warm-up"] if value else []
        elif factor != "loss" and factor not in SYMBOLS:
            shown = value if isinstance(value, str) else f"{factor.replace('_', ' ')} {value:g}"
            rest.append(shown)
    return ", ".join(([" ".join(first)] if first else []) + rest)


def shared_factors(settings: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The factors with the same level in all settings, to be shown once for all.

    The loss stays in each name, and so does a level of 0, such as no warm-up. A single setting
    shares nothing.
    """
    if len(settings) < 2:
        return {}
    first, *others = settings
    return {
        factor: level
        for factor, level in first.items()
        if factor != "loss" and level and all(other.get(factor) == level for other in others)
    }
