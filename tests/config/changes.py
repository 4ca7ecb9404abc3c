"""Configs with one value replaced, whatever its type."""

import functools
import operator


def set_value(config, path, value):
    """Replace the value at a dotted path, which the config need not have."""
    *sections, key = path.split(".")
    section = functools.reduce(operator.getitem, sections, config)
    with config.unlocked(), section.ignore_type():
        section[key] = value
