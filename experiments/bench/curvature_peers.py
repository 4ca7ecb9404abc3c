"""Products with curvature matrices against PyHessian and curvlinops, on one network.

python -m experiments.bench.curvature_peers ours|theirs FOLDER JSON

A probe of Hutchinson's trace is a form v'Hv here, and a product H v with a scalar product in
PyHessian; both draw random signs, so that equal numbers of probes have the same standard error. A
PyHessian task computes its gradient once for all the probes timed with it; curvlinops
differentiates forward over reverse.

PyHessian's form and curvlinops' v'Gv must equal ours. The error of curvlinops' H v is measured: its
entries for a layer norm's weights are wrong, since PyTorch 2.13 differentiates ``jacrev`` of a
layer norm wrongly. With ``torch.func.grad`` instead, it equals PyHessian's product and ours.
"""

import json
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from experiments.bench.paired import (
    Benchmark,
    Case,
    DisagreementError,
    Values,
    compare,
    serve,
    two_workers,
)
from experiments.bench.pytorch import python_with_pytorch

AGREEMENT = 1e-3  # relative, between forms
PAIRS = {  # our task, theirs, and the name of the ratio of their time to ours
    "form": ("pyhessian_probe", "a probe of the trace, PyHessian / ours"),
    "hvp": ("curvlinops_hvp", "H v, curvlinops / ours"),
    "ggn": ("curvlinops_ggn", "G v, curvlinops / ours"),
}
MUST_AGREE = ("form", "ggn")
_SIZES = ("num_layers", "width", "num_heads", "windows", "length", "parts")
SMOKE = {"tiny": dict(zip(_SIZES, (1, 16, 2, 2, 8, 2), strict=True))}
LANGUAGE_MODEL = {"4L/128, 12x64 tokens": dict(zip(_SIZES, (4, 128, 4, 12, 64, 3), strict=True))}
MANY_WINDOWS = {"4L/128, 256x64 tokens": dict(zip(_SIZES, (4, 128, 4, 256, 64, 4), strict=True))}
ERROR = "H v by curvlinops, relative error of the worst leaf"


def measure(case: Case, num_products: int, rounds: int) -> Values:
    """The peers' times over ours, both on one core.

    Raises:
        DisagreementError: the sides do not compute the same.
    """
    python, values = python_with_pytorch(), Values()
    with tempfile.TemporaryDirectory() as folder:
        asked = [folder, json.dumps([num_products, dict(case)])]
        with two_workers(__name__, ("ours", "theirs"), asked, python) as (ours, theirs):
            values[ERROR] = check_agreement(Path(folder))
            for name, (other, ratio) in PAIRS.items():
                values[ratio] = compare(ours.timing(name), theirs.timing(other), rounds).ratios
    return values


def check_agreement(folder: Path) -> float:
    """Check that the forms of ours.json and theirs.json agree where they must.

    Returns:
        The largest relative error of a leaf of curvlinops' H v, compared with PyHessian's.

    Raises:
        DisagreementError: names the task and both numbers.
    """
    ours, theirs = (json.loads((folder / f"{s}.json").read_text()) for s in ("ours", "theirs"))
    for name in MUST_AGREE:
        other = PAIRS[name][0]
        if not abs(theirs[other] / ours[name] - 1) <= AGREEMENT:
            raise DisagreementError(f"{other} gives {theirs[other]:.6g}, we {ours[name]:.6g}")
    return theirs["worst_leaf"]


def _ours(folder: Path, num_products: int, case: Case) -> dict[str, Callable[[], object]]:
    """Write the network, direction and windows for the other side, and our forms."""
    import jax
    import optax

    from el_jax.models.pretrained import save_pretrained
    from el_jax.process.compilation import use_compilation_cache
    from experiments.bench.curvature import batch_of, config_of, products

    use_compilation_cache()
    params, v, functions = products(case)
    batch = jax.device_get(batch_of(case))
    save_pretrained(folder / "model", config_of(case), params)
    # a folder holds any tree of these shapes
    save_pretrained(folder / "direction", config_of(case), v)
    np.savez(folder / "batch.npz", tokens=batch.tokens, labels=batch.labels)
    compiled = {name: jax.jit(functions[name]) for name in PAIRS}
    found = {name: product(params, v) for name, product in compiled.items()}
    forms = {n: f if n == "form" else optax.tree.vdot(f, v) for n, f in found.items()}
    numbers = {name: float(form) for name, form in forms.items()}
    (folder / "ours.json").write_text(json.dumps(numbers))

    def several(product: Callable) -> Callable[[], object]:
        return lambda: jax.block_until_ready([product(params, v) for _ in range(num_products)])

    return {name: several(product) for name, product in compiled.items()}


def _theirs(folder: Path, num_products: int, _: Case) -> dict[str, Callable[[], object]]:
    """Load our network, direction and windows, and write PyHessian's and curvlinops' forms."""
    import torch
    import transformers
    from curvlinops import GGNLinearOperator, HessianLinearOperator
    from pyhessian import hessian
    from pyhessian.utils import group_product, hessian_vector_product

    class Logits(torch.nn.Module):
        """The published network, returning the logits at all positions of all windows."""

        def __init__(self, folder: Path) -> None:
            super().__init__()
            own = {"attn_implementation": "eager", "use_cache": False}  # differentiable twice
            self.network = transformers.AutoModelForCausalLM.from_pretrained(folder, **own).eval()

        def forward(self, tokens: Any) -> Any:
            return self.network(tokens).logits.flatten(0, 1)

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

    def probes(num: int) -> list[Any]:
        model.zero_grad(set_to_none=True)
        found = hessian(model, loss, data=data, cuda=False)
        for _ in range(num):
            product = hessian_vector_product(found.gradsH, found.params, v)
            float(group_product(product, v))
        return product

    product = probes(1)
    numbers = {"pyhessian_probe": float(group_product(product, v))}
    numbers |= {name: float(group_product(op @ v, v)) for name, op in operators.items()}
    pairs = zip(operators["curvlinops_hvp"] @ v, product, strict=True)
    numbers["worst_leaf"] = max(float((a - b).norm() / b.norm()) for a, b in pairs)
    (folder / "theirs.json").write_text(json.dumps(numbers))

    def several(operator: Any) -> Callable[[], object]:
        return lambda: [operator @ v for _ in range(num_products)] and None

    works: dict[str, Callable[[], object]] = {name: several(op) for name, op in operators.items()}
    return {"pyhessian_probe": lambda: probes(num_products), **works}


BENCHMARK = Benchmark(
    measure,
    {
        "smoke": (SMOKE, 1, 1),
        "cpu": (LANGUAGE_MODEL, 5, 9),
        "gpu": ({},),  # nothing here is for a GPU
    },
)

if __name__ == "__main__":
    side = {"ours": _ours, "theirs": _theirs}[sys.argv[1]]
    serve(side(Path(sys.argv[2]), *json.loads(sys.argv[3])))
