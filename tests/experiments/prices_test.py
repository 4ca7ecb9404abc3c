"""The price of an experiment is the sum over its studies, and goes into its README."""

import pytest

from el_jax.planning.machines import machine_of
from el_jax.process.errors import ConfigError
from experiments.__main__ import ROOT, main
from experiments.harness.discovery import Experiment, ExperimentError, discover, find
from experiments.harness.prices import BEGIN, prices, sentence, write_prices
from experiments.harness.studies import Study
from tests.training.small_training import small_config

H100 = machine_of("h100-1")


def test_studies_add_up():
    one, two = small_config(seeds=1), small_config(seeds=3)
    (alone,) = prices([Study(one)], H100, compiled=False)
    both = list(prices([Study(one), Study(two)], H100, compiled=False))
    assert both[1].device_hours == alone.device_hours.times(3)  # seeds run one after another
    assert both[1].operations == 3 * alone.operations
    said = sentence(both, H100)
    assert said.startswith("h100-1: ")
    assert "; 4 runs, " in said
    assert "roofline to 35% of peak" in said


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


def test_prices_replace_the_old_ones_between_their_marks(tmp_path):
    readme = tmp_path / "README.md"
    readme.write_text("# Toy\n\nText.\n")
    write_prices(readme, "paper", ["h100-1: 3 device-hours"], "the command")
    first = readme.read_text()
    assert first.startswith("# Toy\n\nText.\n\n<!-- price -->\n")
    assert "\n- h100-1: 3 device-hours\n" in first
    write_prices(readme, "paper", ["h100-1: 4 device-hours"], "the command")
    assert readme.read_text() == first.replace("3 device", "4 device")


def test_what_cannot_be_planned_is_one_line(capsys):
    with pytest.raises(ExperimentError, match="trains no studies"):
        find(ROOT, "ntp_phase").studies("paper")
    with pytest.raises(ExperimentError, match="has no gpu scale"):
        find(ROOT, "el_copy_losses").studies("gpu")
    assert main(["plan", "el_copy_losses", "--machine=h101"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("error: --machine='h101': must be ")


def test_a_machine_that_cannot_train_it_leaves_the_others(capsys, monkeypatch):
    given = Experiment.studies

    def two_processes_refuse(experiment, scale):
        (study, *_) = given(experiment, scale)
        study.config.train.update(seeds=3, shard="runs")
        return [study]

    monkeypatch.setattr(Experiment, "studies", two_processes_refuse)
    command = ["plan", "flat_time", "--scale=smoke"]
    assert main([*command, "--machine=h100-2x8,h100-1"]) == 0
    refused, planned = capsys.readouterr().out.splitlines()
    assert refused.startswith("h100-2x8: config.train.shard='runs': must be auto or none with")
    assert planned.startswith("h100-1: ")
    assert main([*command, "--machine=h100-2x8"]) == 2
