"""Next-token prediction on a text of your own, from scratch or from a published model.

    python -m el_jax.train --config=configs/text.py:source=my_texts --workdir=runs/mine

Arguments after the colon: ``source=PATH`` (a folder of .txt files, a .txt file, king_james or
shakespeare), ``pretrained=PATH`` (a Hugging Face folder, GGUF file or smollm2 to start from, with
its tokenizer), ``loss=NAME``, ``optimizer=NAME``, ``smoke`` (seconds, for a first look). Then
``python -m el_jax.generate runs/mine "..." seed=0`` continues a text, and ``el_jax.export`` writes
a Hugging Face folder.

A model from scratch is a GPT-2 of 4 layers and width 128. It reads windows of 128 tokens (byte
pairs of the text itself) and trains for 2,000 updates of 16 windows, ten minutes of CPU time. A
pretrained model is fine-tuned in 200 updates at 5e-5. The last tenth of the text is the test set.
Expect (king_james, from scratch) a perplexity of 29 on the training text and 74 on the test set,
the last books of the Bible.

Needs the packages of requirements.txt.
"""

from ml_collections import ConfigDict

from configs import common


def get_config(arg: str | None = None) -> ConfigDict:
    """The config; see the module's docstring for the argument."""
    given = common.parse_arg(
        arg,
        source="king_james",
        pretrained="",
        loss="cross_entropy",
        optimizer="adamw",
        smoke=False,
    )
    config = ConfigDict({"seed": 0, "parallel": common.PARALLEL})
    config.task = common.task("running_text", source=given.source)
    config.loss = common.loss(given.loss)
    num_updates = 200 if given.pretrained else 2_000
    config.train = common.train(
        num_updates, log_every=20, eval_every=num_updates // 10, probes=("perplexity",), seeds=1
    )
    if given.pretrained:
        common.start_from(config, given.pretrained, given.optimizer)
    else:
        rates = dict.fromkeys(("embedding_dropout", "attention_dropout", "residual_dropout"), 0.0)
        config.model = common.model("gpt2", num_layers=4, width=128, num_heads=4, **rates)
        config.optim = common.optim(given.optimizer, peak_lr=1e-3, schedule="linear")
    config.optim.warmup_steps = num_updates // 20
    config.eval = {"test": 64}
    config.sweep = common.sweep(config)
    if given.smoke:
        _make_small(config)
    return config


def _make_small(config: ConfigDict) -> None:
    """Shrink the training to seconds: enough to see that everything runs, not to learn."""
    config.task.update(window=32, windows_per_update=4, trained_size=300)
    if not config.train.init_from:
        config.model.update(width=16, num_layers=1, num_heads=2)
    config.optim.warmup_steps = 2
    config.train.update(num_updates=20, log_every=10, eval_every=10, checkpoint_every=10)
    config.eval = {"test": 16}
