"""Trainings on text that start from the parameters of published files."""

import dataclasses
import shutil

import jax
import numpy as np
import pytest

from configs.el.text_copy import get_config
from el_jax import build
from el_jax.models.presets import GPT2
from el_jax.models.pretrained import load_pretrained, save_pretrained
from el_jax.models.transformer import transformer
from el_jax.process.compilation import Once
from el_jax.process.errors import ConfigError
from el_jax.run import start_from
from el_jax.tasks import text_source
from el_jax.tasks.documents import king_james_books, sentences_of
from el_jax.tokenizers import SEPARATOR, train_tokenizer
from el_jax.training.fit import fit
from el_jax.training.sinks import History

ROWS = 520  # of the token table, more than the vocabulary has


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """An untrained GPT-2 with a trained tokenizer."""
    path = tmp_path_factory.mktemp("models") / "gpt2"
    config = dataclasses.replace(GPT2, vocab_size=ROWS, width=16, num_layers=1, num_heads=2)
    save_pretrained(path, config, Once(transformer(config).init)(jax.random.key(3)))
    tokenizer = train_tokenizer(sentences_of(king_james_books()[0].text), 500)
    tokenizer.save(str(path / "tokenizer.json"))
    return path


def test_a_folder_whose_texts_end_in_another_token_has_that_one_between_sentences(folder, tmp_path):
    own = shutil.copytree(folder, tmp_path / "own")
    whole = (own / "tokenizer.json").read_text(encoding="utf-8")
    (own / "tokenizer.json").write_text(whole.replace(SEPARATOR, "</s>"), encoding="utf-8")
    with pytest.raises(
        ConfigError, match=r"one with the token <\|endoftext\|>, or with an eos_tok"
    ):
        build.checked(build.parse(config_of(own)))
    (own / "tokenizer_config.json").write_text('{"eos_token": "</s>"}')
    text_source._loaded.cache_clear()  # forget the folder as it was
    task, before = (build.parse(config_of(place)).task for place in (own, folder))
    ours, theirs = (each.test_set(8).tokens for each in (task, before))
    np.testing.assert_array_equal(ours, theirs)
    assert task.text_tokenizer.token_to_id("</s>") == ours[0, 0]
    assert task.render(ours[0]) == before.render(theirs[0])


def config_of(folder):
    config = get_config(f"loss=e1,pretrained={folder},smoke")
    config.train.num_updates = config.train.eval_every = 10
    return config


def test_a_training_starts_from_the_parameters_of_a_folder_in_every_run(folder):
    settings = build.parse(config_of(folder))
    assert settings.task.vocab_size == ROWS
    assert settings.task.text_tokenizer.get_vocab_size() == 500
    training = build.build(settings)
    model, params, _ = load_pretrained(folder)
    state = start_from(settings.train.init_from, training.program)
    assert int(state.step) == 0
    for run in range(2):
        ours = jax.tree.map(lambda leaf, run=run: np.asarray(leaf)[run], state.params)
        jax.tree.map(np.testing.assert_array_equal, ours, params)
    batch = settings.task.test_set(8)
    ours, theirs = (Once(m.apply)(params, batch) for m in (build.model_of(settings), model))
    np.testing.assert_allclose(ours, theirs, atol=1e-6)
    history = History()
    fit(training, state=state, sinks=[history])
    assert history.steps == [10]
    assert np.isfinite(history.curve("test_hard_exact_match")[1]).all()


def test_the_paper_scale_fine_tunes_the_model_it_is_given(folder):
    settings = build.parse(get_config(f"scale=paper,pretrained={folder}"))
    assert (settings.task.num_train, settings.train.num_updates) == (9_984, 5 * 9_984 // 32)
    assert settings.model_config.width == 16
    assert settings.model_config.residual_dropout == GPT2.residual_dropout
    with pytest.raises(ValueError, match=r"^scale=paper: fine-tunes a model, name it by pretrain"):
        get_config("scale=paper")
