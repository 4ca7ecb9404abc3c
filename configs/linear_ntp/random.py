"""Random embeddings and supports (Thrampoulidis 2024, arXiv 2402.18551, Appendix A.2).

    python -m el_jax.analyze_ntp --config=configs/linear_ntp/random.py:d=60,m=50 --workdir=runs/ntp

Arguments after the colon: ``m`` contexts, ``d`` dimensions, ``V`` tokens, ``S`` of them after each
context, ``seed``, ``steps`` of gradient descent; ``teacher`` takes the probabilities from a linear
teacher, which are compatible in any dimension but seldom separable in few. Cost: seconds.
"""

from ml_collections import ConfigDict

from configs import common


def get_config(arg: str | None = None) -> ConfigDict:
    """The config; see the module's docstring for the argument."""
    given = common.parse_arg(arg, m=50, d=60, V=10, S=6, seed=0, steps=10_000, teacher=False)
    config = ConfigDict()
    config.problem = {
        "name": "teacher" if given.teacher else "random",
        "num_contexts": given.m,
        "dim": given.d,
        "vocab_size": given.V,
        "support_size": given.S,
        "seed": given.seed,
        "scale" if given.teacher else "concentration": 1.0,
    }
    config.norms = ("frobenius", "max", "spectral")
    config.trajectory = common.trajectory(num_steps=given.steps)
    return config
