"""PyHessian's and curvlinops' side of the comparison of curvature: imports nothing of el_jax.

python -m experiments.bench.curvature_theirs FOLDER JSON

Starts from the network and the direction in FOLDER. A task of PyHessian's makes its gradient once
and as many probes as are timed with it; curvlinops differentiates forward over reverse.
"""

import json
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
import transformers
from curvlinops import GGNLinearOperator, HessianLinearOperator
from pyhessian import hessian
from pyhessian.utils import group_product, hessian_vector_product
from torch import Tensor

from experiments.bench.worker import serve


class Logits(torch.nn.Module):
    """The published network, to the logits of all positions of all windows."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        own = {"attn_implementation": "eager", "use_cache": False}  # can be differentiated twice
        self.network = transformers.AutoModelForCausalLM.from_pretrained(folder, **own).eval()

    def forward(self, tokens: Tensor) -> Tensor:
        """Logits ``[positions, V]``."""
        return self.network(tokens).logits.flatten(0, 1)


def _main(folder: Path, plan: dict) -> None:
    torch.set_num_threads(1)
    model, loss = Logits(folder / "model"), torch.nn.CrossEntropyLoss()
    v = [leaf.detach() for leaf in Logits(folder / "direction").parameters()]
    with np.load(folder / "batch.npz") as arrays:
        tokens, labels = (torch.from_numpy(arrays[n].astype(np.int64)) for n in arrays.files)
    data = tokens, labels.flatten()
    params = [leaf for leaf in model.parameters() if leaf.requires_grad]
    once = {"check_deterministic": False}  # reads the data once more
    operators = {
        "curvlinops_hvp": HessianLinearOperator(model, loss, params, [data], **once),
        "curvlinops_ggn": GGNLinearOperator(model, loss, params, [data], **once),
    }

    def probes(num: int) -> float:
        model.zero_grad(set_to_none=True)
        found = hessian(model, loss, data=data, cuda=False)
        for _ in range(num):
            product = hessian_vector_product(found.gradsH, found.params, v)
            form = group_product(product, v)
        return float(form)

    def probe() -> list[Tensor]:
        found = hessian(model, loss, data=data, cuda=False)
        return hessian_vector_product(found.gradsH, found.params, v)

    def of_operator(name: str) -> Callable[[], float]:
        return lambda: float(group_product(operators[name] @ v, v))

    numbers = {"pyhessian_probe": probes(1)}
    numbers |= {name: of_operator(name)() for name in operators}
    pairs = zip(operators["curvlinops_hvp"] @ v, probe(), strict=True)
    numbers["worst_leaf"] = max(float((a - b).norm() / b.norm()) for a, b in pairs)
    (folder / "theirs.json").write_text(json.dumps(numbers))

    def several(name: str) -> Callable[[], None]:
        def work() -> None:
            for _ in range(plan["num_products"]):
                operators[name] @ v

        return work

    works = {name: several(name) for name in operators}
    serve({"pyhessian_probe": lambda: probes(plan["num_products"]), **works})


if __name__ == "__main__":
    _main(Path(sys.argv[1]), json.loads(sys.argv[2]))
