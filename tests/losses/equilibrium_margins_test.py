"""Margins at which a token comes to rest, to the digits printed."""

import math
from decimal import Decimal
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from loss_definitions import DEFINITIONS

from el_jax.losses import TOKEN_LOSSES, e1, e2, e3, equilibrium_margins

# (loss, lam, V) -> (margin, probability of the label) at each local minimum
TABLE = {
    ("e1", 0.25, 29): [("5.71", ".915")],
    ("e1", 0.5, 29): [("4.70", ".796")],
    ("e1", 0.5, 50257): [("13.3", ".925")],
    ("e1", 1, 29): [("0.69", ".066"), ("2.73", ".355")],
    ("e1", 1, 54): [("0.75", ".039"), ("4.15", ".544")],
    ("e1", 1, 500): [("0.91", ".005"), ("7.19", ".727")],
    ("e1", 1, 50257): [("0.99", None), ("12.5", ".841")],
    ("e1", 2, 29): [("0.254", ".044")],
    ("e1", 2, 500): [("0.267", None), ("5.04", ".236")],
    ("e1", 2, 50257): [("0.268", None), ("11.5", ".654")],
    ("e1", 4, 29): [("0.122", ".039")],
    ("e2", 1, 29): [("4.26", ".716")],
    ("e2", 1, 50257): [("18.1", ".999")],
    ("e2", 10, 29): [("1.32", ".118")],
    ("e2", 10, 500): [("7.13", ".715")],
    ("e2", 10, 50257): [("15.9", ".994")],
    ("e2", 32, 29): [("0.445", ".053")],
    ("e2", 32, 50257): [("14.8", ".98")],
}


def probability(margin, num_classes):
    return 1 / (1 + (num_classes - 1) * math.exp(-margin))


def assert_prints_as(value, printed):
    half_unit = 0.5 * 10.0 ** Decimal(printed).as_tuple().exponent
    assert abs(value - float(printed)) <= half_unit, f"{value} is not {printed}"


def margin_slope(name, lam, v, m):
    """d/dm of the loss of a token whose wrong logits are all 0, by hand."""
    of_cross_entropy = -(v - 1) / (v - 1 + math.exp(m))
    of_e1, of_e2 = lam * 2 * m / (1 + m**2), lam * 2 * m * (v - 1) / v**2
    return of_cross_entropy + (of_e1 if name == "e1" else of_e2)


@pytest.mark.parametrize(("name", "lam", "num_classes"), TABLE)
def test_margins_of_e1_and_e2(name, lam, num_classes):
    margins = equilibrium_margins(partial({"e1": e1, "e2": e2}[name], lam=lam), num_classes)
    expected = TABLE[name, lam, num_classes]
    assert len(margins) == len(expected)
    for margin, (printed_margin, printed_probability) in zip(margins, expected, strict=True):
        assert abs(margin_slope(name, lam, num_classes, margin)) < 1e-13
        assert margin_slope(name, lam, num_classes, margin - 1e-4) < 0
        assert margin_slope(name, lam, num_classes, margin + 1e-4) > 0
        assert_prints_as(margin, printed_margin)
        if printed_probability is not None:
            assert_prints_as(probability(margin, num_classes), printed_probability)


E3_PROBABILITIES = {  # target b -> probability of the label at V = 29, 500, 50257
    1: (".209", ".015", "1e-4"),
    2: (".661", ".099", ".001"),
    4: (".991", ".857", ".056"),
    5: (".999", ".978", ".305"),
    10: ("1.000", "1.000", "1.000"),
}


@pytest.mark.parametrize("b", E3_PROBABILITIES)
def test_margin_of_e3_is_twice_its_target(b):
    for v, printed in zip((29, 500, 50257), E3_PROBABILITIES[b], strict=True):
        (margin,) = equilibrium_margins(partial(e3, b=b), v)
        np.testing.assert_allclose(margin, 2 * b, rtol=1e-13)
        assert_prints_as(probability(margin, v), printed)


@pytest.mark.parametrize(
    "name", ["cross_entropy", "focal", "poly1", "comp_sum", "z_loss", "squentropy"]
)
def test_losses_that_ask_for_ever_larger_margins_have_no_equilibrium(name):
    loss = partial(TOKEN_LOSSES[name], **DEFINITIONS[name][1])
    assert equilibrium_margins(loss, 29) == ()


def test_margin_of_label_smoothing_has_a_closed_form():
    (margin,) = equilibrium_margins(partial(TOKEN_LOSSES["label_smoothing"], smoothing=0.1), 29)
    target = 1 - 0.1 + 0.1 / 29  # probability given to the label
    np.testing.assert_allclose(probability(margin, 29), target, rtol=1e-12)


def test_shift_of_the_logits_is_free_to_settle():
    """Rescaled square: f_k = M, others 0. Logit penalty: the logits centre themselves."""
    square = partial(TOKEN_LOSSES["rescaled_square"], scale=5.0, target=15.0)
    np.testing.assert_allclose(equilibrium_margins(square, 29), [15.0], rtol=1e-12)
    penalty = partial(TOKEN_LOSSES["logit_penalty"], beta=0.1)
    centred = partial(TOKEN_LOSSES["spectral_decoupling"], lam=0.1)
    np.testing.assert_allclose(
        equilibrium_margins(penalty, 29), equilibrium_margins(centred, 29), rtol=1e-12
    )


@pytest.mark.parametrize("num_classes", [29, 500])
@pytest.mark.parametrize("name", ["taylor_softmax", "spherical_softmax"])
def test_another_dependence_on_the_shift_is_refused(name, num_classes):
    """One step finds no best shift: at 500 classes the Taylor softmax seemed to rest at 2.43."""
    loss = partial(TOKEN_LOSSES[name], **DEFINITIONS[name][1])
    with pytest.raises(ValueError, match="loss: must be quadratic in the common shift"):
        equilibrium_margins(loss, num_classes)


def test_minimum_at_a_kink_is_found():
    """A strong penalty on the top logit holds the label level with the others, at margin 0."""
    (margin,) = equilibrium_margins(partial(TOKEN_LOSSES["max_sup"], alpha=2.0), 29)
    assert abs(margin) < 1e-13


def test_precision_outside_is_left_as_it_was():
    equilibrium_margins(partial(e1, lam=1.0), 29)
    assert not jax.config.jax_enable_x64
    assert jnp.zeros(1).dtype == jnp.float32
