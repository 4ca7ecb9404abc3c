"""Three contexts in the plane (Thrampoulidis 2024, arXiv 2402.18551, Figure 1).

    python -m el_jax.analyze_ntp --config=configs/linear_ntp/figure1.py --workdir=runs/figure1

Argument after the colon: ``steps`` of gradient descent. Cost: seconds.
"""

from ml_collections import ConfigDict

from configs import common


def get_config(arg: str | None = None) -> ConfigDict:
    """The config; see the module's docstring for the argument."""
    given = common.parse_arg(arg, steps=10_000)
    config = ConfigDict()
    config.problem = {"name": "figure1"}
    config.norms = ("frobenius", "max", "spectral")
    config.trajectory = common.trajectory(num_steps=given.steps)
    return config
