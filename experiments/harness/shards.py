"""The parts of an experiment's studies, one for each task of a job array."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeVar

T = TypeVar("T")


class ShardError(ValueError):
    """Parts that cannot be made; the message is one line."""


@dataclass(frozen=True)
class Shard:
    """Part ``index`` of ``count``, from 0."""

    index: int = 0
    count: int = 1

    def take(self, units: Iterable[T]) -> list[T]:
        """Every ``count``-th unit of work, from the one numbered ``index``.

        Raises:
            ShardError: this part would have nothing to do.
        """
        every = list(units)
        if self.count > len(every):
            raise ShardError(
                f"--shard={self.index}/{self.count}: n must be at most {len(every)} here."
            )
        return every[self.index :: self.count]


WHOLE = Shard()


def parse_shard(text: str) -> Shard:
    """Read ``i/n``.

    Raises:
        ShardError: the text has another form, or i is not below n.
    """
    found = re.fullmatch(r"(\d{1,6})/(\d{1,6})", text, re.ASCII)
    if found is None or not int(found[1]) < int(found[2]):
        raise ShardError(f"--shard={text!r}: must be i/n with i from 0 to n - 1, such as 0/4.")
    return Shard(int(found[1]), int(found[2]))
