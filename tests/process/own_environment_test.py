"""An environment beside the user's own is made once; if it cannot be made, one line says why."""

import dataclasses
import subprocess
import sys

import pytest

from el_jax.process.own_environment import NoEnvironmentError, OwnEnvironment, works

PRESENT = ("--no-index", "pip")  # pip is there already: nothing to fetch


@pytest.fixture
def made(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))

    def make(*choices, check="import numpy", sees_ours=True):
        return OwnEnvironment("own", "some packages", "1 kB", choices, check, sees_ours)

    return make


def test_it_is_made_at_the_first_use_and_sees_our_packages(made, capfd, tmp_path):
    environment = made(("--no-index", "no-such-package"), PRESENT)
    with pytest.raises(NoEnvironmentError, match="some packages: not installed"):
        environment.python(install=False)
    python = environment.python()
    assert python == str(tmp_path / "el_jax" / "own" / "bin" / "python")
    assert "installing some packages into" in (said := capfd.readouterr().out)
    assert "1 kB, once" in said
    assert environment.python(install=False) == python
    assert not works(python, "import no_such_module")
    assert capfd.readouterr().out == ""


def test_what_pip_refuses_is_one_line_and_leaves_nothing(made, tmp_path):
    said = r"^some packages: .* cannot be made \(ERROR: No matching distribution.*\)$"
    with pytest.raises(NoEnvironmentError, match=said):
        made(("--no-index", "no-such-package")).python()
    assert not (tmp_path / "el_jax" / "own").exists()


@pytest.mark.slow
def test_what_is_installed_must_work(made):
    said = r"does not work \(ModuleNotFoundError: No module named 'no_such_module'\); delete that"
    with pytest.raises(NoEnvironmentError, match=said):
        made(PRESENT, check="import no_such_module").python()


def test_a_cache_that_cannot_be_written_is_one_line(made, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))  # root may write into any folder
    with pytest.raises(NoEnvironmentError, match=r"^some packages: .* cannot be made \(.*\)$"):
        made(PRESENT).python()


@pytest.mark.slow
def test_two_processes_at_once_make_it_once(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    program = (
        "from el_jax.process.own_environment import OwnEnvironment\n"
        f"own = OwnEnvironment('own', 'packages', '1 kB', ({PRESENT},), 'import numpy', True)\n"
        "print(own.python())"
    )
    command = [sys.executable, "-c", program]
    both = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    said = [process.communicate()[0].splitlines() for process in both]
    assert [process.returncode for process in both] == [0, 0]
    assert said[0][-1] == said[1][-1]
    assert sum("installing" in line for lines in said for line in lines) == 1


@pytest.mark.slow
def test_packages_besides_come_without_what_they_need(made):
    besides = dataclasses.replace(made(PRESENT), without_needs=("--no-index", "no-such-package"))
    with pytest.raises(NoEnvironmentError, match=r"cannot be made \(ERROR: No matching"):
        besides.python()
