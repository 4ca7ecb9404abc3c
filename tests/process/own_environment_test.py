"""An environment beside the user's own is made once; if it cannot be made, one line says why."""

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
