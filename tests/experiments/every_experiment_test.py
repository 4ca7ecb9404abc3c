"""Laws of every experiment: it runs, its page and the report agree with its table."""

import importlib
import re

import pytest

from el_jax import build
from el_jax.process.errors import UserError
from experiments.__main__ import main
from experiments.harness.discovery import ExperimentError, discover
from experiments.harness.report import report_of
from experiments.harness.studies import by_seed
from tests.trainings import ROOT

EXPERIMENTS = discover(ROOT / "experiments")
PARTS = ["Answer", "Source", "Regime", "Results", "Limits", "Protocol"]
DRAWN = [name for name in EXPERIMENTS if (ROOT / "experiments" / name / "results.csv").exists()]


@pytest.mark.slow
@pytest.mark.parametrize("name", EXPERIMENTS)
def test_it_runs_at_the_smoke_scale(name, tmp_path):
    assert main(["run", name, "--smoke", f"--out={tmp_path}"]) == 0
    assert {path.name for path in tmp_path.iterdir()} >= {"results.csv", "figure.png"}


def test_the_committed_report_is_that_of_the_committed_tables():
    committed = (ROOT / "experiments" / "report.md").read_text(encoding="utf-8")
    assert report_of(ROOT / "experiments") == committed


@pytest.mark.parametrize("name", EXPERIMENTS)
@pytest.mark.parametrize("scale", ["pilot", "cpu", "paper"])
def test_what_it_trains_can_be_parsed_at_every_scale(name, scale):
    if scale not in EXPERIMENTS[name].scales:
        pytest.skip("no such scale")
    module = importlib.import_module(f"experiments.{name}.run")
    try:
        for study in module.studies(scale) if "studies" in vars(module) else []:
            build.checked(build.parse(study.config))
    except (ExperimentError, UserError) as error:
        if not re.search("no .* scale|pip install|weights|EL_JAX_GPT2", str(error)):
            raise
        pytest.skip(str(error))  # there is no paper scale, or a package or weights are missing


@pytest.mark.parametrize("name", [n for n in EXPERIMENTS if "pilot" in EXPERIMENTS[n].scales])
def test_its_pilot_sees_no_world_and_no_data_set_that_is_reported(name):
    module = importlib.import_module(f"experiments.{name}.run")
    if "studies" not in vars(module):
        pytest.skip("trains no studies")

    def drawn(scale):
        for study in module.studies(scale):
            for config in by_seed(study):
                yield config.task.get("world", config.task).get(
                    "seed", config.task.get("data_seed")
                )

    assert not {*drawn("pilot")} & {*drawn("cpu")}


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_its_page_asks_its_question_and_answers_first(name):
    root, question = ROOT / "experiments", EXPERIMENTS[name].question
    row = f"| [{name}]({name}/README.md) | {question} | "
    assert row in (root / "README.md").read_text(encoding="utf-8")
    page = (root / name / "README.md").read_text(encoding="utf-8")
    assert page.startswith(f"# {question}\n\n**Answer.** ")
    assert re.findall(r"^\*\*([A-Z]\w+)\.\*\*", page, re.MULTILINE) == PARTS
    answer = page.partition("**Answer.**")[2].partition("\n\n")[0]
    assert len(answer.split()) <= 75


@pytest.mark.parametrize("name", DRAWN)
def test_the_caption_has_the_numbers_of_the_title(name):
    readme = (ROOT / "experiments" / name / "README.md").read_text(encoding="utf-8")
    caption = readme.partition("](figure.png)\n\n*")[2].split("*\n\n")[0]
    figure = EXPERIMENTS[name].plot(EXPERIMENTS[name].folder)
    numbers = re.findall(r"[+−]?[\d,]*\.?\d+", re.sub(r"\$.*?\$", "", figure.get_suptitle()))
    assert not [number for number in numbers if number not in caption]
