"""A training small enough to compile in seconds, and a sink that keeps its rows."""

from configs.el.copy import get_config
from el_jax import build


def small_config(arg="loss=e1,smoke", **train):
    config = get_config(arg)
    config.model.update(width=8, num_layers=1)
    config.task.update(padding_length=4, num_train=32)
    config.optim.warmup_steps = 0
    config.train.update(num_updates=20, log_every=10, eval_every=20, checkpoint_every=20)
    config.eval = {"test": 16, "test_precise": 16}
    config.train.eval_tokens = 128
    config.train.shard = "none"  # tests have two devices
    config.train.update(train)
    return config


def built(config):
    return build.build(build.parse(config))
