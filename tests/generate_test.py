"""A text is continued by a training, by the folder it is exported to, and by published files."""

import pathlib

import jax.numpy as jnp
import numpy as np
import pytest
import tokenizers

import el_jax
from el_jax import export, generate
from el_jax.process.errors import ConfigError
from el_jax.tokenizers import SEPARATOR, load_tokenizer, word_tokenizer
from el_jax.types import Batch
from tests import trainings

LLAMA = pathlib.Path(__file__).parent / "models" / "pretrained" / "llama"
TEXT = "The word1 word2"


@pytest.fixture(scope="module")
def workdir(tmp_path_factory):
    """Two seeds of the copy task on two made-up texts."""
    texts, workdir = tmp_path_factory.mktemp("texts"), tmp_path_factory.mktemp("run")
    rng = np.random.default_rng(0)
    words = [f"word{i}" for i in range(50)]
    for name in ("Alpha", "Beta"):
        sentences = [f"The {' '.join(rng.choice(words, 9))}." for _ in range(60)]
        (texts / f"{name}.txt").write_text(" ".join(sentences))
    task = {"trained_size": 300, "num_train": 64, "max_tokens": 120, "sentences_per_update": 8}
    flags = [f"--config.task.{name}={value}" for name, value in task.items()]
    flags += ["--config.train.num_updates=20", "--config.train.seeds=2", "--config.eval.test=8"]
    flags += ["--config.train.shard=none"]  # tests have two devices
    config = f"--config=configs/el/text_copy.py:source={texts},smoke"
    return trainings.trained_here(workdir, config, *flags)


def said(capsys, *arguments):
    assert generate.main([str(argument) for argument in arguments]) == 0
    return capsys.readouterr().out.removesuffix("\n")


def test_a_training_adds_its_most_probable_tokens(workdir, capsys):
    found = said(capsys, workdir, TEXT, "seed=1", "--temperature=0", "--tokens=4")
    run = el_jax.load(workdir)
    tokenizer, params = run.task.text_tokenizer, run.params(seed=1)
    ids = tokenizer.encode(f"{SEPARATOR} {TEXT}").ids
    start = len(ids)
    for _ in range(4):
        asked = jnp.array([[len(ids) - 1]])
        logits = run.model.apply(params, Batch(jnp.array([ids]), asked, asked, asked >= 0, asked))
        ids.append(int(logits.argmax()))
    assert found == tokenizer.decode(ids[start:])
    assert found


def test_a_seed_draws_the_same_text_again_and_another_one_another(workdir, capsys):
    asked = [workdir, TEXT, "seed=0", "--tokens=20", "--temperature=2"]
    first, again, other = (said(capsys, *asked, f"--seed={seed}") for seed in (1, 1, 2))
    assert first == again != other


def test_an_exported_training_continues_as_the_training_does(workdir, tmp_path, capsys):
    folder = tmp_path / "new"
    assert export.main([str(workdir), str(folder), "seed=0"]) == 0
    assert load_tokenizer(folder).to_str() == el_jax.load(workdir).task.text_tokenizer.to_str()
    capsys.readouterr()
    asked = ["--tokens=12", "--temperature=0"]
    own = said(capsys, workdir, TEXT, "seed=0", *asked)
    assert said(capsys, folder, f"{SEPARATOR} {TEXT}", *asked) == own


def test_a_special_token_ends_the_continuation(workdir):
    writer = generate.writer_of(workdir, {"seed": 0})
    separator = writer.tokenizer.token_to_id(SEPARATOR)
    kernel = jnp.zeros_like(writer.params["tok_emb"]).at[separator].set(1.0)
    always = writer.params | {
        "tok_emb": kernel,
        "final_ln": {"scale": 0 * kernel[0], "bias": kernel[separator]},
    }
    assert writer._replace(params=always).continued(TEXT, 5, 0.0, 0) == ""


def test_an_added_token_that_is_not_special_does_not_end_the_continuation(monkeypatch):
    words = word_tokenizer(["a", "b", "</s>"])
    words.add_tokens(["b"])
    words.add_special_tokens(["</s>"])
    writer = generate.Writer(config=None, params={}, tokenizer=words)
    monkeypatch.setattr(generate, "generate", lambda *_, **__: jnp.array([[0, 0, 1, 0, 2, 0]]))
    assert writer.continued("a", 5, 0.0, 0) == "a b a"


def test_running_text_is_continued_without_tokens_that_training_left_out(workdir, monkeypatch):
    tokenizer = tokenizers.Tokenizer(tokenizers.models.WordLevel({"<s>": 0, "a": 1}))
    start = tokenizers.processors.TemplateProcessing("<s> $A", special_tokens=[("<s>", 0)])
    tokenizer.post_processor = start
    saved, prompts = generate.writer_of(workdir, {"seed": 0}), []

    def recorded(config, params, tokens, num, **_):
        prompts.append(tokens.tolist()[0])
        return tokens

    monkeypatch.setattr(generate, "generate", recorded)
    for adds_special in (False, True):
        writer = saved._replace(tokenizer=tokenizer, before="", adds_special=adds_special)
        writer.continued("a", 1, 0.0, 0)
    assert prompts == [[1], [0, 1]]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["{run}", TEXT], "2 runs of 2; choose from [{'seed': 0"),
        (["{run}", TEXT, "seed=0", "--tokens=9999"], "tokens: must be at most max_length="),
        ([str(LLAMA), TEXT], "must have tokenizer.json, or vocab.json and merges.txt"),
        (["gpt2", TEXT], "gpt2: no such folder; name a folder, a .gguf file"),
    ],
)
def test_a_text_that_cannot_be_continued_is_one_line(arguments, words, workdir, capsys):
    given = [argument.replace("{run}", str(workdir)) for argument in arguments]
    assert generate.main(given) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("error: ")
    assert words in line


def test_a_text_of_unknown_words_is_told_the_words_of_the_model():
    words = word_tokenizer(["a", "b", "<BOS>"])
    writer = generate.Writer(config=None, params={}, tokenizer=words)
    with pytest.raises(ConfigError, match=r"text='In the': tokenizer: must have .* <BOS> a b"):
        writer.continued("In the", 1, 0.0, 0)
