"""The price of an experiment on any machine, present or not, summed over its studies."""

import dataclasses
from collections.abc import Iterator, Sequence
from pathlib import Path

from el_jax.planning.forecast import UTILISATION, Forecast, Interval
from el_jax.planning.machines import Machine
from el_jax.planning.plans import plan
from el_jax.planning.report import hours
from el_jax.planning.units import duration, quantity
from experiments.harness.studies import Study, by_seed

BEGIN, END = "<!-- price -->\n", "<!-- end of price -->"


@dataclasses.dataclass(frozen=True)
class Price:
    """The price of a study on a machine.

    Attributes:
        seeds: number of seeds, run one after the other; each has all runs of a seed.
        each: forecast for one seed.
    """

    seeds: int
    each: Forecast

    @property
    def training(self) -> Interval:
        """Time of all seeds, in seconds."""
        return self.each.training.times(self.seeds)

    @property
    def device_hours(self) -> Interval:
        """Time of all seeds on every device, in hours."""
        return self.each.device_hours.times(self.seeds)

    @property
    def operations(self) -> float:
        """Operations in matrix products of all updates."""
        return self.seeds * self.each.num_updates * self.each.operations


def prices(studies: Sequence[Study], machine: Machine, *, compiled: bool) -> Iterator[Price]:
    """Forecast every study as an accelerator trains it: all runs of a seed in one program.

    Args:
        studies: the studies.
        machine: the machine.
        compiled: whether to use the machine's compiler, which takes minutes per study.

    Raises:
        ConfigError: the machine cannot train a study, for example with too many devices.
    """
    for study in studies:
        parts = by_seed(study)
        yield Price(len(parts), plan(parts[0], machine, compiled=compiled))


def sentence(found: Sequence[Price], machine: Machine) -> str:
    """The price of all studies together in one line.

    Args:
        found: prices of the studies.
        machine: the machine.
    """
    device_hours = sum((p.device_hours for p in found[1:]), found[0].device_hours)
    time = sum((p.training for p in found[1:]), found[0].training)
    runs = sum(p.seeds * p.each.runs for p in found)
    operations = sum(p.operations for p in found)
    refused = sum(not p.each.memory.fits for p in found)
    text = (
        f"{machine.name}: {hours(device_hours)}, {duration(time.ideal)} to "
        f"{duration(time.likely)} ({found[0].each.by} to {UTILISATION:.0%} of peak); {runs} runs, "
        f"{quantity(operations, 'op')}"
    )
    return text + (f"; {refused} of {len(found)} studies do not fit" if refused else "")


def write_prices(readme: Path, scale: str, sentences: Sequence[str], command: str) -> None:
    """Put the prices into a README, between their marks or at its end.

    Args:
        readme: the file.
        scale: the scale of the prices.
        sentences: one per machine.
        command: the command that wrote them.
    """
    text = readme.read_text()
    if BEGIN not in text:
        text = f"{text.rstrip()}\n\n{BEGIN}{END}\n"
    before, _, rest = text.partition(BEGIN)
    after = rest.partition(END)[2]
    items = "".join(f"- {each}\n" for each in sentences)
    body = f"Price of the {scale} scale, forecast and not measured (`{command}`):\n\n{items}"
    readme.write_text(f"{before}{BEGIN}{body}{END}{after}")
