"""A config with any value for any key is accepted, or refused in one line."""

import math

import pytest
from ml_collections import ConfigDict

from configs.el.copy import get_config
from configs.flatness.masked import get_config as masked
from el_jax import build
from el_jax.process.errors import ConfigError
from tests.config.changes import set_value

VALUES = [
    *(-1, 0, 2**31, 0.5, math.nan, math.inf, -math.inf, True, None),
    *("", "x", b"x", (), (1, "x"), [math.nan], {}, {"a": 1}, object()),
]


def paths(node, start=()):
    for key in node:
        yield (*start, key)
        if isinstance(node[key], ConfigDict):
            yield from paths(node[key], (*start, key))


@pytest.mark.slow
@pytest.mark.parametrize("make", [lambda: get_config("loss=e1,smoke"), lambda: masked("smoke")])
def test_any_value_of_any_key_is_accepted_or_one_line(make):
    for path in list(paths(make())):
        for value in VALUES:
            config = make()
            set_value(config, ".".join(path), value)
            try:
                build.checked(build.parse(config))
            except ConfigError as error:
                line = str(error)
                assert "\n" not in line
                assert path[-1] in line or path[0] in line, (path, value, line)
            except Exception as error:
                raise AssertionError(f"{path} = {value!r}: {type(error).__name__}") from error
