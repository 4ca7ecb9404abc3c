"""Probabilities of a linear teacher: compatible in any dimension, seldom separable in few.

    python -m el_jax.analyze_ntp --config=configs/linear_ntp/teacher.py:d=8 --workdir=runs/teacher

Arguments after the colon: ``m`` contexts, ``d`` dimensions, ``V`` tokens, ``S`` of them after a
context, ``seed``, ``steps`` of gradient descent. Cost: seconds.
"""

from ml_collections import ConfigDict

from configs import common


def get_config(arg: str | None = None) -> ConfigDict:
    """The config; see the module's docstring for the argument."""
    given = common.parse_arg(arg, m=50, d=8, V=10, S=3, seed=0, steps=10_000)
    config = ConfigDict()
    config.problem = {
        "name": "teacher",
        "num_contexts": given.m,
        "dim": given.d,
        "vocab_size": given.V,
        "support_size": given.S,
        "seed": given.seed,
        "scale": 1.0,
    }
    config.norms = ("frobenius", "max", "spectral")
    config.trajectory = common.trajectory(num_steps=given.steps)
    return config
