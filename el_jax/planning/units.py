"""Text for numbers with units."""

import math

_PREFIXES = ((1e18, "E"), (1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))
_TIMES = ((3600.0, "h"), (60.0, "min"), (1.0, "s"), (1e-3, "ms"), (1e-6, "us"))


def digits(value: int | float) -> str:
    """A number in three digits, without an exponent below a million: 1234.5 is "1,230"."""
    return f"{float(f'{value:.3g}'):,g}"


def quantity(value: int | float, unit: str) -> str:
    """A number with up to three digits and a prefix: ``quantity(3.2e9, "B")`` is "3.2 GB".

    A unit that begins with a space is a word: ``quantity(2e6, " words")`` is "2 M words".
    """
    if not math.isfinite(value):
        return f"more {unit} than there is"
    value = float(f"{value:.3g}")  # first, or 999.9 kB would be 1e+03 kB
    for size, prefix in _PREFIXES:
        if abs(value) >= size:
            return f"{digits(value / size)} {prefix}{unit}"
    return f"{value:g} {unit.strip()}"


def duration(seconds: int | float) -> str:
    """A time in the largest unit that it reaches."""
    size, unit = next((each for each in _TIMES if seconds >= each[0]), _TIMES[-1])
    return f"{digits(seconds / size)} {unit}"
