import dataclasses
import json
import subprocess

import jax
import pytest

from el_jax.checkpoint_step import config_hash
from experiments.harness.provenance import (
    checkout_state,
    gather_provenance,
    read_provenance,
    renew_provenance,
    write_provenance,
)


def gather(settings=("E1 λ=1",)):
    return gather_provenance("el_copy_losses", "cpu", dict.fromkeys(settings, 12.3456), {})


def test_a_run_describes_itself():
    provenance = gather()
    assert provenance.command == "python -m experiments run el_copy_losses --scale=cpu"
    assert provenance.versions["jax"] == jax.__version__
    assert provenance.hardware["platform"] == jax.devices()[0].platform
    assert provenance.wall_seconds == {"E1 λ=1": 12.3}


def test_what_was_not_measured_or_earlier_is_written_where_there_is_any(tmp_path):
    path = tmp_path / "provenance.json"
    write_provenance(path, gather())
    assert not {"not_measured", "earlier"} & set(json.loads(path.read_text()))
    whole = dataclasses.replace(gather(), not_measured={"a": "no GPU"}, earlier=(gather(["b"]),))
    write_provenance(path, whole)
    assert read_provenance(path) == whole


def test_settings_measured_again_leave_the_earlier_ones_their_own_origin():
    old = dataclasses.replace(
        gather(["a", "b", "c"]), commit="old", not_measured={"b": "no GPU", "c": "no time"}
    )
    new = renew_provenance(old, gather(["b"]), "b".__eq__)
    assert (list(new.wall_seconds), new.not_measured) == (["b"], {"c": "no time"})
    (kept,) = new.earlier
    assert (kept.commit, list(kept.wall_seconds), kept.not_measured) == ("old", ["a", "c"], {})
    newest = renew_provenance(new, gather(["a", "c"]), {"a", "c"}.__contains__)
    assert [list(part.wall_seconds) for part in newest.earlier] == [["b"]]  # none is left of old


def test_the_hash_depends_on_values_and_not_on_their_order():
    assert config_hash({"a": 1, "b": {"c": 2}}) == config_hash({"b": {"c": 2}, "a": 1})
    assert config_hash({"a": 1}) != config_hash({"a": 2})
    with pytest.raises(TypeError):
        config_hash({"a": object()})


def git(folder, *words):
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.org"]
    subprocess.run(["git", "-C", folder, *identity, *words], check=True, capture_output=True)


def test_only_sources_make_a_checkout_dirty(tmp_path):
    assert checkout_state(tmp_path) == ("unknown", True)
    git(tmp_path, "init")
    (tmp_path / "code.py").write_text("x = 1\n")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-m", "first")
    (tmp_path / "results.csv").write_text("setting\n")
    commit, dirty = checkout_state(tmp_path)
    assert len(commit) == 40
    assert not dirty
    (tmp_path / "code.py").write_text("x = 2\n")
    assert checkout_state(tmp_path) == (commit, True)
