"""The price of an experiment is the sum over its studies, and goes into its README."""

from el_jax.planning.machines import machine_of
from el_jax.process.errors import ConfigError
from experiments.__main__ import ROOT
from experiments.harness.discovery import ExperimentError, discover
from experiments.harness.prices import BEGIN, prices, sentence
from experiments.harness.studies import Study
from tests.training.small_training import small_config

H100 = machine_of("h100-1")


def test_studies_add_up():
    one, two = small_config(seeds=1), small_config(seeds=3)
    (alone,) = prices([Study(one)], H100, compiled=False)
    both = list(prices([Study(one), Study(two)], H100, compiled=False))
    assert both[1].device_hours == alone.device_hours.times(3)  # seeds run one after another
    assert both[1].operations == 3 * alone.operations
    assert "; 4 runs, " in sentence(both, H100)


def has_trainings_at_paper_scale(experiment):
    try:
        experiment.studies("paper")
    except ExperimentError:
        return False
    except ConfigError:  # needs a model to fine-tune, which the user provides
        return True
    return True


def test_every_experiment_with_trainings_at_paper_scale_has_its_price(monkeypatch):
    monkeypatch.delenv("EL_JAX_GPT2", raising=False)
    chosen = [e for e in discover(ROOT).values() if has_trainings_at_paper_scale(e)]
    assert {"el_copy_losses", "el_path_star", "el_text_copy", "flat_time"} <= {
        experiment.name for experiment in chosen
    }
    for experiment in chosen:
        text = (experiment.folder / "README.md").read_text()
        assert f"{BEGIN}Price of the paper scale" in text, experiment.name
