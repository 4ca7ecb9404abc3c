"""The command that measures checkpoints: its table, its figure, and its messages on mistakes.

README's recipe runs it on a masked model; here it measures the copy task.
"""

import csv
import hashlib
import json
import pathlib
import re
import shutil
from collections import Counter

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from configs.el.copy import get_config as of_training
from configs.flatness.masked import get_config as of_masked
from configs.flatness.measure import get_config
from el_jax import build
from el_jax.config.measure import parse
from el_jax.config.training import Config
from el_jax.measure import measure
from el_jax.models.pretrained import load_pretrained
from el_jax.probes import NotFiniteError, contexts_of, measurement
from el_jax.process.compilation import Once
from el_jax.process.errors import NOT_FINITE, ConfigError, PretrainedError
from el_jax.run import SavedRun
from el_jax.tasks.king_james import king_james_words
from el_jax.tokenizers import word_tokenizer
from el_jax.types import Batch
from tests import trainings

KINDS = ("embeddings", "matrices", "norms", "biases")


@pytest.fixture(scope="module")
def workdir(tmp_path_factory):
    """A training of two seeds."""
    flags = ["--config.train.seeds=2", "--config.train.keep_checkpoints=0", *trainings.SHORT]
    return trainings.trained_here(tmp_path_factory.mktemp("copy"), *trainings.TINY, *flags)


def test_every_number_has_a_line_in_the_table(workdir, capsys):
    config = get_config("smoke")
    config.update(runs=(1,), steps=(10, 20), num_eigenvalues=2)
    measure(config, workdir)
    told = capsys.readouterr().out
    with (workdir / "curvature.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert {(row["run"], row["seed"], row["step"]) for row in rows} == {
        ("1", "1", "10"),
        ("1", "1", "20"),
    }
    for step in ("10", "20"):
        assert f"run 1 (seed 1), step {step}\n" in told
        found = {
            r["metric"]: (float(r["value"]), float(r["sem"])) for r in rows if r["step"] == step
        }
        groups = [found[f"fisher_trace, {kind}"][0] for kind in KINDS]
        # the groups share the labels drawn for the whole, so they add up without sampling error
        np.testing.assert_allclose(sum(groups), found["fisher_trace"][0], rtol=1e-4)
        assert found["eigenvalue_1"][0] >= found["eigenvalue_2"][0] > found["least_eigenvalue"][0]
        assert not {"kl", "entropy", "expected_ce"} & {*found}
        for name in ("ce", "fisher_trace", "hessian_trace", "scale_free_trace"):
            value, error = found[name]
            assert 0 < error < abs(value)
    by_step = {(row["step"], row["metric"]): row for row in rows}
    for name, draws in (("ce", False), ("fisher_trace", True), ("hessian_trace", True)):
        before, after = by_step["10", name], by_step["20", name]
        change = by_step["20", f"{name}, since step 10"]
        difference = float(after["value"]) - float(before["value"])
        np.testing.assert_allclose(float(change["value"]), difference, rtol=1e-2)
        said = f"{float(change['value']):.4g} ± {float(change['sem']):.2g}"
        assert re.search(rf"^  {name}, since step 10 +{re.escape(said)}", told, re.MULTILINE)
        assert 0 < float(change["sem"]) <= float(before["sem"]) + float(after["sem"])
        for row in (before, after, change):
            sem, *parts = (float(row[name]) for name in ("sem", "context_sem", "probe_sem"))
            assert (parts[1] > 0) == draws
            assert np.hypot(*parts) == pytest.approx(sem, rel=1e-3) or parts[1] > sem
    assert (workdir / "curvature.png").stat().st_size > 10_000


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"runs": (2,)}, r"config.runs=2: must be in 0 .. 1"),
        ({"steps": (15,)}, r"config.steps=15: must be among \[10, 20\], of "),
        (
            {"split": "tests"},
            r"config.split='tests': must be one of test, test_precise, train",
        ),
    ],
)
def test_a_mistake_is_one_line_and_leaves_no_table(workdir, changes, said, tmp_path):
    config = get_config()
    config.update(changes)
    before = sorted(workdir.iterdir())
    with pytest.raises(ConfigError, match=f"^{said}"):
        measure(config, workdir)
    assert sorted(workdir.iterdir()) == before


def test_a_run_that_is_lost_is_told_and_the_others_are_measured(workdir, monkeypatch, tmp_path):
    read = SavedRun.params

    def lost(run, seed, step, **numbers):
        params = read(run, seed, step, **numbers)
        return jax.tree.map(lambda leaf: leaf * jnp.nan, params) if seed == 0 else params

    monkeypatch.setattr(SavedRun, "params", lost)
    config = small(out=str(tmp_path / "one"))
    said = rf"^run 0 \(seed 0\), step 20: loss=nan: must be finite. {tmp_path}.* has the 1 others$"
    with pytest.raises(NotFiniteError, match=said) as error:
        measure(config, workdir)
    assert error.value.exit_code == NOT_FINITE
    assert np.isfinite(numbers_of(tmp_path / "one")["hessian_trace"])
    assert (tmp_path / "one" / "curvature.png").exists()
    config.update(out=str(tmp_path / "none"), runs=(0,))
    with pytest.raises(NotFiniteError, match="has the 0 others"):
        measure(config, workdir)
    assert [path.name for path in (tmp_path / "none").iterdir()] == ["curvature.csv"]


def test_the_loss_is_told_as_divergence_and_entropy_where_the_truth_is_known(capsys, tmp_path):
    training = of_masked("world=hmm,smoke")
    settings = build.parse(Config(training.to_dict()))
    task, model = settings.task, build.model_of(settings, exact=True)
    windows, _ = contexts_of(build.split_of(settings, "train"), most=16)
    key = jax.random.key(0)
    params = Once(model.init)(key)
    found = measurement(task, model, windows, key, grouping=None, num_eigenvalues=0)(params)
    rows = {name: float(value.mean) for name, value in found.estimates.items()}
    assert rows["expected_ce"] == pytest.approx(rows["kl"] + rows["entropy"], rel=1e-6)
    truth = build.PROBES["true_conditional"](task, model).of_params
    expected = truth(jax.tree.map(lambda leaf: leaf[None], params))
    assert rows["kl"] == pytest.approx(float(expected["kl"][0]), rel=1e-5)
    assert rows["entropy"] == pytest.approx(float(expected["entropy"][0]), rel=1e-5)


def test_another_command_s_config_and_an_empty_folder_are_refused(tmp_path):
    with pytest.raises(ConfigError, match=r"--config: a training's; `.* el_jax.train` takes it"):
        parse(of_training("smoke"))
    with pytest.raises(ConfigError, match="not the workdir of a training"):
        measure(get_config(), tmp_path)
    with pytest.raises(PretrainedError, match=r"gpt2: no such folder; name "):
        measure(get_config(), tmp_path / "gpt2")


# ---- published models ----------------------------------------------------------------------------

FOLDERS = pathlib.Path(__file__).parent / "models" / "pretrained"
TEXT = " ".join(king_james_words()[:2_000])


@pytest.fixture(scope="module")
def published(tmp_path_factory):
    """A Hugging Face folder of 13 tokens, with a tokenizer of the 12 most frequent words."""
    library = pytest.importorskip("tokenizers")
    folder = shutil.copytree(FOLDERS / "llama", tmp_path_factory.mktemp("hub") / "llama")
    frequent = [word for word, _ in Counter(TEXT.split()).most_common(12)]
    words = {word: number for number, word in enumerate(["<unk>", *frequent])}
    tokenizer = library.Tokenizer(library.models.WordLevel(words, unk_token="<unk>"))
    tokenizer.pre_tokenizer = library.pre_tokenizers.Whitespace()
    tokenizer.save(str(folder / "tokenizer.json"))
    return folder


def small(**changes):
    """A config with few contexts, and without groups and spectrum, which compile for a minute."""
    config = get_config("smoke")
    config.update({"window": 8, "lanczos_steps": 4, "groups": "none", "num_eigenvalues": 0})
    config.update(changes)
    return config


def numbers_of(folder):
    with (folder / "curvature.csv").open(newline="") as file:
        return {row["metric"]: float(row["value"]) for row in csv.DictReader(file)}


def test_a_published_model_is_measured_on_a_text(published, tmp_path, monkeypatch, capsys):
    (tmp_path / "text.txt").write_text(TEXT)
    monkeypatch.chdir(tmp_path)
    before = {path: path.read_bytes() for path in published.iterdir()}
    measure(small(text="text.txt", contexts=64, num_eigenvalues=2), published)
    told = capsys.readouterr().out
    assert f"{published}: 64 contexts of text.txt" in told
    digest = hashlib.sha256((published / "model.safetensors").read_bytes()).hexdigest()
    assert f"model.safetensors: SHA-256 {digest}\n" in told
    with (tmp_path / "curvature.csv").open(newline="") as file:
        assert {row["sha256"] for row in csv.DictReader(file)} == {digest}
    assert {path: path.read_bytes() for path in published.iterdir()} == before
    assert (tmp_path / "curvature.png").stat().st_size > 10_000
    found = numbers_of(tmp_path)
    assert found["eigenvalue_1"] > found["least_eigenvalue"]
    # the same contexts by hand: windows of 8, their second halves supervised, 64 of them drawn
    words = json.loads((published / "tokenizer.json").read_text())["model"]["vocab"]
    tokens = np.array([words.get(word, 0) for word in TEXT.split()])
    rows = tokens[: len(tokens) // 9 * 9].reshape(-1, 9)
    model, params, _ = load_pretrained(published)
    asked = jnp.broadcast_to(jnp.arange(4, 8), (len(rows), 4))
    batch = Batch(jnp.asarray(rows[:, :8]), asked, jnp.asarray(rows[:, 5:]), asked >= 0, asked)
    laws = jax.nn.log_softmax(Once(model.apply)(params, batch))
    nats = -np.take_along_axis(np.asarray(laws), rows[:, 5:, None], 2).ravel()
    kept = np.random.default_rng(0).choice(nats.size, 64, replace=False)
    np.testing.assert_allclose(found["ce"], nats[kept].mean(), rtol=1e-5)


def test_a_text_of_unknown_words_is_refused_in_one_line(published, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pathlib.Path("other.txt").write_text("no such words")
    own = shutil.copytree(published, tmp_path / "own")
    word_tokenizer(["a", "b"]).save(str(own / "tokenizer.json"))
    with pytest.raises(ConfigError, match=r"^config.text='other.txt': tokenizer: must have every"):
        measure(small(text="other.txt"), own)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"steps": (1,)}, r"config.steps=\(1,\): must be empty for a published model"),
        ({"text": "gone.txt"}, r"config.text='gone.txt': cannot be read"),
        ({"text": "short.txt"}, r"config.text='short.txt': tokens of the text=3: must be more"),
    ],
)
def test_a_mistake_about_a_published_model_is_one_line(
    published, tmp_path, monkeypatch, changes, said
):
    monkeypatch.chdir(tmp_path)
    pathlib.Path("short.txt").write_text("a b c")
    with pytest.raises(ConfigError, match=f"^{said}"):
        measure(small(**{"text": "short.txt", **changes}), published)
    assert [path.name for path in tmp_path.iterdir()] == ["short.txt"]


def test_a_published_model_that_cannot_be_measured_is_one_line(tmp_path):
    with pytest.raises(ConfigError, match=r"bert: must be a causal model: this one sees the next"):
        measure(small(out=str(tmp_path)), FOLDERS / "bert")
