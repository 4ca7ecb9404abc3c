"""Contexts in classes, each followed by its own tokens: separable with d far below m.

    python -m el_jax.analyze_ntp --config=configs/linear_ntp/facet.py:d=8,m=60 --workdir=runs/facet

Arguments after the colon: ``m`` contexts, ``d`` dimensions, ``V`` tokens, ``C`` classes, ``seed``,
``steps`` of gradient descent. Cost: seconds.
"""

from ml_collections import ConfigDict

from configs import common


def get_config(arg: str | None = None) -> ConfigDict:
    """The config; see the module's docstring for the argument."""
    given = common.parse_arg(arg, m=60, d=8, V=24, C=6, seed=0, steps=10_000)
    config = ConfigDict()
    config.problem = {
        "name": "facet",
        "num_contexts": given.m,
        "dim": given.d,
        "vocab_size": given.V,
        "num_classes": given.C,
        "seed": given.seed,
        "spread": 0.5,
    }
    config.norms = ("frobenius", "max", "spectral")
    config.trajectory = common.trajectory(num_steps=given.steps)
    return config
