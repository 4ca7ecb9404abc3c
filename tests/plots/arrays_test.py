import numpy as np

from el_jax.plots import mean_and_sem


def test_mean_and_sem_of_known_numbers():
    mean, sem = mean_and_sem(np.array([[1.0, 0.0], [2.0, 0.0], [6.0, 0.0]]))
    # squared deviations 4 + 1 + 9 = 14, variance 14/2 = 7, standard error sqrt(7/3)
    np.testing.assert_allclose(mean, [3.0, 0.0])
    np.testing.assert_allclose(sem, [np.sqrt(7 / 3), 0.0])


def test_one_seed_has_a_mean_but_no_standard_error():
    mean, sem = mean_and_sem(np.array([0.25]))
    assert mean == 0.25
    assert np.isnan(sem)
