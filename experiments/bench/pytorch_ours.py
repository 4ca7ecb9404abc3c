"""Our side of the comparison with PyTorch.

python -m experiments.bench.pytorch_ours FOLDER JSON

Writes into FOLDER the model and batches that the other side starts from, and the logits and losses
that it must reproduce. Its tasks are ``asked`` and ``all``, updates of the training engine
with those positions supervised, and ``plain``, gradient and AdamW alone with all of them.
"""

import dataclasses
import json
import sys
from collections.abc import Mapping
from pathlib import Path

import jax
import numpy as np

from el_jax.losses import cross_entropy, token_stats
from el_jax.models import PRESETS, TransformerConfig, transformer
from el_jax.models.pretrained import save_pretrained
from el_jax.runtime.compilation import use_compilation_cache
from el_jax.types import Batch, Params
from experiments.bench.pytorch import Case
from experiments.bench.trainings import PlainUpdates, Updates, Work, on_one_batch, random_batch
from experiments.bench.worker import serve


def model_of(case: Case) -> TransformerConfig:
    """The transformer of a case, without dropout."""
    return dataclasses.replace(
        PRESETS[case.preset],
        vocab_size=case.vocab_size,
        width=case.width,
        num_layers=case.num_layers,
        num_heads=case.num_heads,
        max_length=case.length,
        rotary_fraction=0.5,
        embedding_dropout=0.0,
        attention_dropout=0.0,
        residual_dropout=0.0,
    )


def batch_of(case: Case, asked: int | None) -> Batch:
    """The windows of every update, with ``asked`` positions supervised or all."""
    return random_batch(case.vocab_size, case.windows, case.length, asked)


def works(case: Case) -> dict[str, Work]:
    """The timed tasks of a case, by name."""
    model, everywhere = model_of(case), batch_of(case, None)
    made: dict[str, Work] = {
        "all": Updates(on_one_batch(model, everywhere), case.num_updates),
        "plain": PlainUpdates(model, everywhere, case.num_updates),
    }
    if case.asked is not None:
        asked = on_one_batch(model, batch_of(case, case.asked))
        made["asked"] = Updates(asked, case.num_updates)
    return made


def write(folder: Path, case: Case) -> None:
    """Write model and batches, their logits, and the losses before and after one update.

    The update is a plain one, which compiles quickly; a test compares it with the engine's.
    """
    batches = {"all": batch_of(case, None)}
    if case.asked is not None:
        batches["asked"] = batch_of(case, case.asked)
    arrays = dict[str, np.ndarray]()
    for name, batch in batches.items():
        one = PlainUpdates(model_of(case), batch, 1)
        logits, before = logits_and_loss(case, one.params, batch)
        params = jax.device_get(one.params)
        one()
        _, after = logits_and_loss(case, one.params, batch)
        arrays |= {f"{name}_logits": logits, f"{name}_losses": np.array([before, after])}
        read = {"tokens": batch.tokens, "supervised": batch.supervised, "labels": batch.labels}
        _save(folder / f"batch_{name}.npz", jax.device_get(read))
    save_pretrained(folder / "model", model_of(case), params)
    _save(folder / "ours.npz", arrays)


def _save(path: Path, arrays: Mapping[str, np.ndarray]) -> None:
    np.savez(path, allow_pickle=False, **dict(arrays))


def logits_and_loss(case: Case, params: Params, batch: Batch) -> tuple[np.ndarray, float]:
    """Logits at the supervised positions, and their mean cross-entropy in nats."""
    logits = jax.jit(transformer(model_of(case)).apply)(params, batch)
    return np.asarray(logits), float(cross_entropy(token_stats(logits, batch.labels)).mean())


if __name__ == "__main__":
    use_compilation_cache()
    chosen = Case(**json.loads(sys.argv[2]))
    write(Path(sys.argv[1]), chosen)
    serve(works(chosen))
