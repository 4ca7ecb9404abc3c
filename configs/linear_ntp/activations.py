"""Frozen activations of a network as contexts, with counts of the tokens after each.

    python -m el_jax.analyze_ntp --config=configs/linear_ntp/activations.py:file=FILE.npz \
        --workdir=runs/activations

Make the file with ``np.savez(file, embeddings=..., counts=...)``: one activation per row,
``[contexts, d]`` (the transpose of H), and how often each token followed each context, ``[V,
contexts]``. Probabilities may be given as counts: if each column sums to 1, contexts are equally
frequent. Contexts whose activations coincide are merged.

Arguments after the colon: the ``file``, ``unit`` to scale activations to length 1, ``norms``
(frobenius|all), ``steps`` of gradient descent. Cost: seconds to minutes; a thousand
contexts in hundreds of dimensions take minutes.
"""

from ml_collections import ConfigDict

from configs import common


def get_config(arg: str | None = None) -> ConfigDict:
    """The config; see the module's docstring for the argument."""
    given = common.parse_arg(
        arg, file="activations.npz", unit=False, norms="frobenius", steps=2_000
    )
    if given.norms not in ("frobenius", "all"):
        raise ValueError(f"norms={given.norms!r}: must be frobenius or all")
    config = ConfigDict()
    config.problem = {
        "name": "activations",
        "embeddings": given.file,
        "counts": given.file,
        "unit_norm": given.unit,
    }
    every = ("frobenius", "max", "spectral")
    config.norms = every if given.norms == "all" else ("frobenius",)
    config.trajectory = common.trajectory(num_steps=given.steps)
    return config
