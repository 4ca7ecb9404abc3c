"""The origin of an experiment's numbers: provenance.json next to its tables."""

import dataclasses
import datetime
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from el_jax.process.environment import checkout_state, hardware, versions, xla_flags
from experiments.harness.tables import MalformedTableError


@dataclasses.dataclass(frozen=True)
class Provenance:
    """The command, code, machine and date behind the numbers in one folder.

    Attributes:
        command: the command that reproduces them, at the root of the repository.
        scale: one of ``discovery.KNOWN_SCALES``.
        wall_seconds: for each setting, wall time of training and evaluating all its seeds.
        commit: the commit checked out, or ``unknown`` outside a clone.
        dirty: sources differed from that commit, or could not be compared with it.
        hardware: from ``environment.hardware``.
        versions: versions of Python and of the numerical libraries.
        date: day the run ended, ISO 8601, UTC.
        arithmetic: the XLA flags, and in records until 29 November 2026 the verdict of a canary on
            them; empty in records from before 22 November 2026, when no flag was set.
        not_measured: for each setting that could not be measured, the reason.
        earlier: provenance of settings that an earlier run measured and this one kept.
    """

    command: str
    scale: str
    wall_seconds: Mapping[str, float]
    commit: str
    dirty: bool
    hardware: Mapping[str, str | int]
    versions: Mapping[str, str]
    date: str
    arithmetic: Mapping[str, str] = dataclasses.field(default_factory=dict)
    not_measured: Mapping[str, str] = dataclasses.field(default_factory=dict)
    earlier: tuple["Provenance", ...] = ()


_OFTEN_EMPTY = {"not_measured", "earlier"}  # omitted if empty


def gather_provenance(
    experiment: str,
    scale: str,
    wall_seconds: Mapping[str, float],
    not_measured: Mapping[str, str],
) -> Provenance:
    """Describe the run that is ending, on this machine, from this checkout.

    Args:
        experiment: name of the experiment's folder.
        scale: the scale it ran at.
        wall_seconds: wall time of each setting.
        not_measured: for each setting that could not be measured, the reason.
    """
    commit, dirty = checkout_state()
    return Provenance(
        command=f"python -m experiments run {experiment} --scale={scale}",
        scale=scale,
        wall_seconds={s: _three_digits(seconds) for s, seconds in wall_seconds.items()},
        commit=commit,
        dirty=dirty,
        hardware=hardware(),
        versions=versions(),
        date=datetime.datetime.now(datetime.UTC).date().isoformat(),
        arithmetic={"xla_flags": xla_flags()},
        not_measured=dict(not_measured),
    )


def _three_digits(seconds: float) -> float:
    return float(f"{seconds:.3g}")


def write_provenance(path: Path, provenance: Provenance) -> None:
    """Write provenance.json, keys sorted."""

    def written(fields: list[tuple[str, Any]]) -> dict[str, Any]:
        return {key: value for key, value in fields if value or key not in _OFTEN_EMPTY}

    fields = dataclasses.asdict(provenance, dict_factory=written)
    text = json.dumps(fields, indent=2, sort_keys=True, ensure_ascii=False)
    path.write_text(text + "\n", encoding="utf-8")


def read_provenance(path: Path) -> Provenance:
    """Read provenance.json.

    Raises:
        MalformedTableError: not JSON, or fields are missing or unknown.
        FileNotFoundError: there is no such file.
    """
    try:
        fields = json.loads(path.read_text(encoding="utf-8"))
    except json.JSONDecodeError as error:
        raise MalformedTableError(f"{path}:{error.lineno}: {error.msg}.") from None
    return _from_fields(path, fields)


def _from_fields(path: Path, fields: Any) -> Provenance:
    allowed = {field.name for field in dataclasses.fields(Provenance)}
    given = set(fields) if isinstance(fields, dict) else set()
    if differing := (given ^ allowed) - (_OFTEN_EMPTY | {"arithmetic", "config_hashes"}):
        raise MalformedTableError(
            f"{path}: fields {sorted(differing)} are missing or unknown; "
            f"there must be {sorted(allowed)}."
        )
    earlier = tuple(_from_fields(path, part) for part in fields.get("earlier", ()))
    kept = {name: value for name, value in fields.items() if name in allowed}
    return Provenance(**{**kept, "earlier": earlier})


def renew_provenance(
    old: Provenance, new: Provenance, measured: Callable[[str], bool]
) -> Provenance:
    """The provenance of tables in which some settings are new and the others unchanged.

    Args:
        old: provenance of the old tables.
        new: provenance of the run that measured some settings again.
        measured: True for the name of a setting that was measured again.
    """

    def kept(by_setting: Mapping[str, Any]) -> dict[str, Any]:
        return {name: value for name, value in by_setting.items() if not measured(name)}

    earlier = [
        dataclasses.replace(
            part,
            wall_seconds=kept(part.wall_seconds),
            not_measured={},
            earlier=(),
        )
        for part in (old, *old.earlier)
    ]
    return dataclasses.replace(
        new,
        not_measured={**kept(old.not_measured), **new.not_measured},
        earlier=tuple(part for part in earlier if part.wall_seconds),
    )
