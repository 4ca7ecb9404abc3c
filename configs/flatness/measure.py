"""The curvature of checkpoints and published models (Liu, Xie, Li, Ma 2023, section 4, B.1).

    python -m el_jax.measure --config=configs/flatness/measure.py --workdir=WORKDIR

WORKDIR is the workdir of a training (running, interrupted or done), or a Hugging Face folder or
GGUF file of a causal model, which reads ``text``. Argument after the colon: ``smoke`` (fewer
contexts and products, for a first look).

Cost: for each checkpoint of each run some 20 gradients of every context; and for each end of the
spectrum and each probe of the density, ``lanczos_steps`` products with the Hessian on all contexts,
about 2 gradients each. One checkpoint of a small masked model of ``configs/flatness/masked.py``
took five minutes, compilation included, on two CPU cores that also ran a training. The spectrum
takes the memory of ``lanczos_steps`` gradients; leave it out with ``--config.num_eigenvalues=0``,
say for a published model with a hundred million parameters.
"""

from ml_collections import ConfigDict

from configs import common


def get_config(arg: str | None = None) -> ConfigDict:
    """The config; see the module's docstring for the argument."""
    given = common.parse_arg(arg, smoke=False)
    config = ConfigDict()
    config.seed = 0
    config.split = "train"
    config.text = "king_james"
    config.window = 64
    config.out = ""
    config.contexts = 1_024
    config.steps = ()
    config.runs = ()
    config.groups = "kind"
    config.num_labels = 4  # few, since the error from contexts is larger; the paper draws 50
    config.num_probes = 2
    config.num_eigenvalues = 5
    config.lanczos_steps = 40
    config.density_probes = 4
    if given.smoke:
        config.update(contexts=64, num_eigenvalues=2, lanczos_steps=8, density_probes=2)
    return config
