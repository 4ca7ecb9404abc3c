"""PyTorch's side of the comparison, in an environment of its own: imports nothing of el_jax.

python -m experiments.bench.pytorch_theirs FOLDER JSON

Starts from the model in FOLDER and writes there the logits and losses it arrives at. Its
tasks are ``asked`` and ``all``, updates with those positions in the loss, and ``compiled``, the
latter through ``torch.compile``.
"""

import json
import sys
from pathlib import Path

import numpy as np
import torch
import transformers
from torch import Tensor

from experiments.bench.worker import serve


def network(folder: Path) -> torch.nn.Module:
    """The published class with our parameters, in float32, with PyTorch's own fused attention."""
    own = {"attn_implementation": "sdpa", "use_cache": False}
    return transformers.AutoModelForCausalLM.from_pretrained(folder / "model", **own)


class Training:
    """A model, the windows of every update, and AdamW.

    Args:
        case: the fields of ``pytorch.Case``.
        folder: the folder that our side has written into.
        batch: our side's name for the windows.
        compiled: True to compile the model.
    """

    def __init__(self, case: dict, folder: Path, batch: str, compiled: bool = False) -> None:
        self._num_updates, self._cuda = case["num_updates"], case["device"] == "cuda"
        device = torch.device(case["device"])
        model = network(folder).to(device).train()
        self._model = torch.compile(model) if compiled else model
        with np.load(folder / f"batch_{batch}.npz") as arrays:
            self._tokens, self._supervised, self._labels = (
                torch.from_numpy(arrays[name].astype(np.int64)).to(device)
                for name in ("tokens", "supervised", "labels")
            )
        self._rows = torch.arange(len(self._tokens), device=device)[:, None]
        self._optimizer = torch.optim.AdamW(
            model.parameters(), lr=case["peak_lr"], weight_decay=0.0, fused=True
        )

    def logits(self) -> Tensor:
        """Logits at the supervised positions, picked from those of all positions."""
        return self._model(self._tokens).logits[self._rows, self._supervised]

    def loss(self) -> Tensor:
        """Mean cross-entropy at the supervised positions, in nats."""
        return torch.nn.functional.cross_entropy(
            self.logits().flatten(0, 1), self._labels.flatten()
        )

    def update(self) -> None:
        """Make one update."""
        self._optimizer.zero_grad(set_to_none=True)
        self.loss().backward()
        self._optimizer.step()

    def __call__(self) -> None:
        """Make the updates of one timing."""
        for _ in range(self._num_updates):
            self.update()
        if self._cuda:
            torch.cuda.synchronize()


def write(folder: Path, case: dict) -> None:
    """Write the same arrays as our side, for each batch that our side has written."""
    arrays = dict[str, np.ndarray]()
    for path in folder.glob("batch_*.npz"):
        name = path.stem.removeprefix("batch_")
        training = Training(case, folder, name)
        logits = training.logits().detach().cpu().numpy()
        before = training.loss().item()
        training.update()
        losses = np.array([before, training.loss().item()])
        arrays |= {f"{name}_logits": logits, f"{name}_losses": losses}
    np.savez(folder / "theirs.npz", allow_pickle=False, **dict(arrays))


def _main(folder: Path, case: dict) -> None:
    torch.set_num_threads(1)
    if case["device"] == "cuda":
        torch.set_float32_matmul_precision("high")  # TF32, as JAX's default
    write(folder, case)
    works = {"all": Training(case, folder, "all")}
    if case["asked"] is not None:
        works["asked"] = Training(case, folder, "asked")
    if case["device"] == "cuda":
        works["compiled"] = Training(case, folder, "all", compiled=True)
    serve(works)


if __name__ == "__main__":
    _main(Path(sys.argv[1]), json.loads(sys.argv[2]))
