"""Write the model of a training as a Hugging Face folder.

    python -m el_jax.export WORKDIR FOLDER [NUMBER=VALUE ...] [--step=STEP]
    python -m el_jax.export runs/copy_e1 my_model seed=0 lam=2

FOLDER is new; ``transformers`` and ``el_jax.models.pretrained.load_pretrained`` read it. The
numbers name one run of WORKDIR and may be left out where there is one; STEP is of a checkpoint, and
the newest if left out. Only transformers that some published family has can be written.
"""

import argparse
import pathlib
import sys
from collections.abc import Sequence

from el_jax.models import TransformerConfig
from el_jax.models.pretrained import save_pretrained
from el_jax.runtime.errors import ConfigError, UserError, describe, exit_code
from el_jax.saved_run import SavedRun, load


def export(
    run: SavedRun, folder: pathlib.Path, numbers: dict[str, int | float], step: int | None
) -> str:
    """Write the parameters of one run.

    Args:
        run: the training.
        folder: the folder to make.
        numbers: ``seed`` and other numbers that name the run; may be empty if there is one.
        step: of the checkpoint; None for the newest.

    Returns:
        The class of transformers that loads the folder.

    Raises:
        UserError: there is no such run or step, the checkpoint is damaged, the model has no Hugging
            Face form, or the folder has files already.
    """
    model = run.settings.model
    if not isinstance(model.config, TransformerConfig):
        raise ConfigError(f"config.model.name={model.name!r}: only transformers can be exported")
    if "seed" not in numbers and len(run.runs) > 1:
        example = " ".join(f"{name}={value:g}" for name, value in run.runs[0].items())
        raise ConfigError(f"{run.workdir}: has {len(run.runs)} runs; name one, such as {example}")
    others = dict(numbers)
    seed = int(others.pop("seed", run.runs[0]["seed"]))
    return save_pretrained(folder, model.config, run.params(seed, step, **others))


def _number(text: str) -> tuple[str, int | float]:
    name, _, value = text.partition("=")  # argparse makes one line of a ValueError
    return name, int(value) if value.isdigit() else float(value)


def main(argv: Sequence[str] | None = None) -> int:
    """Read the command line and export.

    Returns:
        The exit code.
    """
    parser = argparse.ArgumentParser("python -m el_jax.export", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("workdir", metavar="WORKDIR")
    parser.add_argument("folder", metavar="FOLDER", type=pathlib.Path)
    parser.add_argument("numbers", metavar="NUMBER=VALUE", nargs="*", type=_number)
    parser.add_argument("--step", type=int)
    given = parser.parse_args(argv)
    try:
        kind = export(load(given.workdir), given.folder, dict(given.numbers), given.step)
        print(f"exported: {given.folder}, for transformers.{kind}.from_pretrained")
    except (UserError, OSError) as error:
        print(f"error: {describe(error)}", file=sys.stderr)
        return exit_code(error) or 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
