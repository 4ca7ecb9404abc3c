"""A training is exported by one command, and its folder gives the logits of the training."""

import numpy as np
import pytest

import el_jax
from el_jax import export
from el_jax.models import PRESETS
from el_jax.models.pretrained import PretrainedError, load_pretrained
from el_jax.models.pretrained.config_json import family_of
from el_jax.process.compilation import Once
from el_jax.tasks import CausalWords, PathStar, StarInWeights
from el_jax.tokenizers import load_tokenizer, word_tokenizer
from tests import trainings


@pytest.fixture(scope="module")
def workdir(tmp_path_factory):
    """Two seeds of the copy task."""
    two = "--config.train.seeds=2"
    folder = tmp_path_factory.mktemp("copy")
    return trainings.trained_here(folder, *trainings.TINY, *trainings.SHORT, two)


@pytest.mark.parametrize("step", [None, 10])
def test_the_folder_gives_the_logits_of_the_run(workdir, step, tmp_path, capsys):
    folder = tmp_path / "new"
    arguments = [str(workdir), str(folder), "seed=1", *([f"--step={step}"] if step else [])]
    assert export.main(arguments) == 0
    assert capsys.readouterr().out == (
        f"exported: {folder}, for transformers.GPTNeoXForCausalLM.from_pretrained\n"
    )
    run = el_jax.load(workdir)
    batch = run.task.pack(run.task.test_set(4))
    words = load_tokenizer(folder).encode("<BOS> a b <CLS> a <EOS>")
    assert words.ids == [
        run.task.special_ids[0],
        0,
        1,
        run.task.special_ids[1],
        0,
        run.task.special_ids[2],
    ]
    model, params, _ = load_pretrained(folder)
    expected = run.model.apply(run.params(seed=1, step=step), batch)
    np.testing.assert_array_equal(model.apply(params, batch), expected)
    other = run.model.apply(run.params(seed=0, step=step), batch)
    assert not np.allclose(other, expected)


@pytest.mark.parametrize("task", [PathStar(num_nodes=9), StarInWeights(), CausalWords()])
def test_every_token_of_a_task_has_a_name_of_its_own(task):
    names = export.token_names(task)
    assert len({*names}) == task.vocab_size
    example = Once(lambda: task.pack(task.test_set(1)).tokens[0])().tolist()
    tokenizer = word_tokenizer(names)
    written = tokenizer.decode(example)
    assert tokenizer.encode(written).ids == example
    with pytest.raises(Exception, match="UNK"):
        tokenizer.encode("no_such_word")


def test_parameters_of_an_objective_on_later_tokens_are_left_out(tmp_path, capsys):
    config = "--config=configs/el/path_star.py:smoke,future=multi_token"
    train = {"num_updates": 20, "seeds": 1, "shard": "none"}
    few = [*(f"--config.train.{key}={value}" for key, value in train.items())]
    few += ["--config.model.num_layers=1"]
    workdir, folder = tmp_path / "run", tmp_path / "new"
    trainings.trained_here(workdir, config, *few)
    capsys.readouterr()
    assert export.main([str(workdir), str(folder)]) == 0
    run = el_jax.load(workdir)
    own = sum(leaf.size for leaf in run.params(seed=0)["future"].values())
    left_out, exported = capsys.readouterr().out.splitlines()
    assert left_out == f"left out: {own:,} parameters of the objective on later tokens"
    assert exported == f"exported: {folder}, for transformers.GPT2LMHeadModel.from_pretrained"
    model, params, _ = load_pretrained(folder)
    batch = Once(lambda: run.task.pack(run.task.test_set(4)))()
    expected = Once(run.model.apply)(run.params(seed=0), batch)
    np.testing.assert_array_equal(Once(model.apply)(params, batch), expected)


def test_budget_bert_has_no_hugging_face_form():
    with pytest.raises(PretrainedError, match="no Hugging Face form; to be ") as error:
        family_of(PRESETS["budget_bert"])
    assert "norm_placement='pre' must be 'post'" in str(error.value)
    assert "\n" not in str(error.value)
