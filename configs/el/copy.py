"""Padded-shifted copy task, GPT-NeoX from scratch (Yang, Puli, Ranganath 2025, sections 3 and 4).

    python -m el_jax.train --config=configs/el/copy.py:loss=e1 --workdir=runs/copy_e1

Arguments after the colon: ``loss=NAME`` (any of configs/common.py), ``scale=small|paper``,
``strings_per_window=1|2|4|8`` (context 55 to 440), ``long`` (the setting of section 4:
L_c = 5, L_p = 2000, one string of 2013 tokens a window), ``smoke`` (seconds, for a first look).

Cost (small): 7,500 updates of one run take 45 to 50 s on one CPU core.
Expect (small): hard test accuracy about .48 with cross-entropy, .56 with loss=e1 and .77 with its
lambda at 2 (--config.loss.lam=2.0); easy is near 1.
"""

from typing import Any

from ml_collections import ConfigDict

from configs import common


def get_config(arg: str | None = None) -> ConfigDict:
    """The config; see the module's docstring for the argument."""
    given = common.parse_arg(
        arg,
        loss="cross_entropy",
        scale="small",
        strings_per_window=1,
        long=False,
        smoke=False,
    )
    config = ConfigDict()
    config.seed = 0
    config.parallel = common.PARALLEL
    config.task = _task(given)
    config.loss = common.loss(given.loss)
    warmup_steps = 1000 if given.loss in common.E_LOSSES else 0  # E-LEARN is loss and warm-up
    if given.scale == "small":
        config.model = common.model("gpt_neox", 32, 3, 2, rotary_fraction=0.5)
        config.optim = common.optim(peak_lr=3e-3, warmup_steps=warmup_steps)
        # at a constant rate this high, training accuracy now and then falls for some hundred
        # updates (E-losses most); a decay earlier than this stops them before they have rectified
        config.optim.schedule = "wsd"
        num_updates = 7_500
    elif given.scale == "paper":
        config.model = common.model("gpt_neox", 1024, 4, 4)
        config.optim = common.optim(peak_lr=1e-4, warmup_steps=warmup_steps)
        num_updates = 20_000
    else:
        raise ValueError(f"scale={given.scale!r}: must be small or paper")
    config.train = {
        "num_updates": num_updates,
        "seeds": 5,
        "log_every": 50,  # one epoch of 400 strings
        "eval_every": 250,
        "checkpoint_every": 2_500,
        "replay_every": 0,  # K > 0: one dispatch of K is made twice and compared
        "on_non_finite": "raise",  # or stop the run, or rewind it; the other runs go on
        "max_rewinds": 3,
        "run_axis": "vmap",
        "max_runs_at_once": 0,  # on one device, under vmap; 0: as many as fit into its memory
        **common.devices(),
        "eval_tokens": 8_192,
        "eval_last": ("test_precise",),  # splits measured at the end only
        "probes": ("stratification",),  # and swap, attention_mass: with every evaluation
        "tensorboard": False,
    }
    config.eval = {"test": 1_000, "test_precise": 10_000}  # strings; 1,000 are the paper's
    config.sweep = common.sweep()
    if given.smoke:
        _make_small(config)
    return config


def _task(given: ConfigDict) -> dict[str, Any]:
    """The task of the paper's section 3 or, if long, of section 4."""
    return {
        "name": "copy",
        "alphabet_size": 26,
        "copy_length": 5 if given.long else 1,
        "padding_length": 2000 if given.long else 50,
        "easy_fraction": 0.8,
        "shift": 1,
        "num_train": 400,
        "strings_per_update": 8,
        "strings_per_window": given.strings_per_window,
        "grouping": "static",
        "doc_mask": False,
        "reset_positions": False,
        "data_seed": 0,
    }


def _make_small(config: ConfigDict) -> None:
    """Seconds instead of minutes: to see that everything runs, not to learn."""
    config.model.update(width=16, num_layers=2, num_heads=2)
    config.optim.warmup_steps = min(config.optim.warmup_steps, 10)
    config.task.update(copy_length=1, padding_length=8)
    config.train.update(num_updates=40, seeds=2, log_every=10, eval_every=20)
    config.train.checkpoint_every = 20
    config.eval = {"test": 64, "test_precise": 64}
