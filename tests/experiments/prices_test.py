"""The price of an experiment is the sum over its studies."""

from el_jax.planning.machines import machine_of
from experiments.harness.prices import prices, sentence
from experiments.harness.studies import Study
from tests.training.small_training import small_config

H100 = machine_of("h100-1")


def test_studies_add_up():
    one, two = small_config(seeds=1), small_config(seeds=3)
    (alone,) = prices([Study(one)], H100, compiled=False)
    both = list(prices([Study(one), Study(two)], H100, compiled=False))
    assert both[1].device_hours == alone.device_hours.times(3)  # seeds run one after another
    assert both[1].operations == 3 * alone.operations
    assert "; 4 runs, " in sentence(both, H100)
