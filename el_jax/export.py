"""Write the model of a training as a Hugging Face folder.

    python -m el_jax.export WORKDIR FOLDER [NUMBER=VALUE ...] [--step=STEP]
    python -m el_jax.export runs/copy_e1 my_model seed=0 lam=2

FOLDER must be new; ``transformers`` and ``el_jax.models.pretrained.load_pretrained`` can read it.
The numbers choose one run of WORKDIR; leave them out if it has only one. STEP chooses a checkpoint;
the default is the newest. The folder also gets a tokenizer: the text's own, or one that reads the
task's tokens as words separated by spaces (``<BOS> g h h <CLS> g <EOS>``). Parameters of an
objective on later tokens (``future=``) are left out, with a line that says so.

A transformer can be exported if a published family computes the same function: the presets gpt2,
gpt_neox, opt, bert and llama (with ``qk_norm``, Qwen3's) in any size. budget_bert, which puts its
norms before the sublayers, LSTMs and lookup tables have no such form and are refused.
"""

import argparse
import pathlib
import sys
from collections.abc import Sequence
from typing import NamedTuple

import jax

from el_jax.models import TransformerConfig
from el_jax.models.pretrained import save_pretrained
from el_jax.process.errors import ConfigError, UserError, describe, exit_code
from el_jax.run import SavedRun, load, number_of
from el_jax.tasks import PaddedCopy, PathStar, RunningText, StarInWeights, Task, TextCopy
from el_jax.tokenizers import word_tokenizer, write_tokenizer
from el_jax.training.objectives.future import OWN


class Exported(NamedTuple):
    """Facts about an exported folder.

    Attributes:
        kind: the class of transformers that loads it.
        left_out: number of parameters of an objective on later tokens, which are not in it.
    """

    kind: str
    left_out: int


def export(
    run: SavedRun, folder: pathlib.Path, numbers: dict[str, int | float], step: int | None
) -> Exported:
    """Write the network of one run and its tokenizer.

    Args:
        run: the training.
        folder: the folder to make.
        numbers: ``seed`` and other numbers that identify the run; may be empty if there is one.
        step: the checkpoint's step; None for the newest.

    Raises:
        UserError: there is no such run or step, the checkpoint is damaged, the model has no Hugging
            Face form, or the folder is not empty.
    """
    model = run.settings.model
    if model.kind is not TransformerConfig:
        raise ConfigError(f"config.model.name={model.name!r}: only transformers can be exported")
    params = run.params(step=step, **numbers)
    beside = params.pop(OWN, {})
    task = run.task
    end: str | None
    if isinstance(task, TextCopy | RunningText):
        tokenizer, end = task.text_tokenizer, task.separator
    else:
        names = token_names(task)
        tokenizer, end = word_tokenizer(names), "<EOS>" if "<EOS>" in names else None
    kind = save_pretrained(folder, run.settings.model_config, params)
    write_tokenizer(folder, tokenizer, end)
    return Exported(kind, sum(leaf.size for leaf in jax.tree.leaves(beside)))


def token_names(task: Task) -> list[str]:
    """The name of each token of a task without text: its own, or the token's number."""
    if isinstance(task, PaddedCopy | PathStar | StarInWeights):
        return task.token_names
    return [*map(str, range(task.vocab_size))]


def main(argv: Sequence[str] | None = None) -> int:
    """Read the command line and export.

    Returns:
        The exit code.
    """
    parser = argparse.ArgumentParser("python -m el_jax.export", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("workdir", metavar="WORKDIR")
    parser.add_argument("folder", metavar="FOLDER", type=pathlib.Path)
    parser.add_argument("numbers", metavar="NUMBER=VALUE", nargs="*", type=number_of)
    parser.add_argument("--step", type=int)
    given = parser.parse_args(argv)
    try:
        made = export(load(given.workdir), given.folder, dict(given.numbers), given.step)
        if made.left_out:
            print(f"left out: {made.left_out:,} parameters of the objective on later tokens")
        print(f"exported: {given.folder}, for transformers.{made.kind}.from_pretrained")
    except (UserError, OSError) as error:
        print(f"error: {describe(error)}", file=sys.stderr)
        return exit_code(error) or 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
