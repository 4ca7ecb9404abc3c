"""Each loss of the comparison is least at the margin that the table gives."""

from functools import partial

import pytest

from configs.el.copy import get_config
from el_jax import build
from el_jax.losses import TOKEN_LOSSES, equilibrium_margins
from experiments.el_copy_margin.run import FAMILIES, MARGINS


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.loss)
def test_each_value_gives_its_margin(family):
    config = get_config(f"loss={family.loss},scale=narrow")
    num_classes = build.parse(config).task.vocab_size
    numbers = config.loss.to_dict()
    for key in ("path", "logit_temperature"):  # keys of every loss: how it is computed, and of what
        numbers.pop(key)
    loss = TOKEN_LOSSES[numbers.pop("name")]
    for margin, value in zip(MARGINS, family.values, strict=True):
        found = equilibrium_margins(partial(loss, **numbers | {family.number: value}), num_classes)
        assert found == pytest.approx((margin,), abs=0.01)
