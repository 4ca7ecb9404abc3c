import jax
import jax.numpy as jnp
import numpy as np

from el_jax.losses import masked_mean, masked_sum_and_count

VALUES = jnp.array([[1.0, jnp.nan, 3.0], [jnp.inf, 5.5, 7.0]])
MASK = jnp.array([[True, False, True], [False, True, False]])


def test_sum_and_count_see_only_what_is_unmasked():
    total, count = masked_sum_and_count(VALUES, MASK)
    assert total == 9.5
    assert count == 3
    mean, slopes = jax.value_and_grad(masked_mean)(VALUES, MASK)
    assert mean == np.float32(9.5 / 3)
    np.testing.assert_allclose(slopes, MASK / 3, rtol=1e-6)


def test_sums_and_counts_of_parts_add_up_to_the_mean_of_the_whole():
    parts = [masked_sum_and_count(v, m) for v, m in zip(VALUES, MASK, strict=True)]
    totals, counts = zip(*parts, strict=True)
    assert sum(totals) / sum(counts) == masked_mean(VALUES, MASK)
    means = [masked_mean(v, m) for v, m in zip(VALUES, MASK, strict=True)]
    assert np.mean(means) != masked_mean(VALUES, MASK)


def test_mean_of_nothing_is_nan():
    assert jnp.isnan(masked_mean(VALUES, jnp.zeros_like(MASK)))
