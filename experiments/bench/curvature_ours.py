"""Our side of the comparison of curvature.

python -m experiments.bench.curvature_ours FOLDER JSON

Writes into FOLDER the network, the direction and the windows that the other side starts from, and
the forms that it must reproduce. Its tasks are those of ``curvature_peers.PAIRS``.
"""

import json
import sys
from collections.abc import Callable
from pathlib import Path

import jax
import numpy as np
import optax

from el_jax.models.pretrained import save_pretrained
from el_jax.runtime.compilation import use_compilation_cache
from experiments.bench.curvature import Plan, batch_of, config_of, products
from experiments.bench.curvature_peers import PAIRS
from experiments.bench.worker import serve


def works(folder: Path, plan: Plan) -> dict[str, Callable[[], None]]:
    """The tasks; writes what the other side reads."""
    params, v, functions = products(plan)
    config, batch = config_of(plan), jax.device_get(batch_of(plan))
    save_pretrained(folder / "model", config, params)
    save_pretrained(folder / "direction", config, v)  # a folder holds any tree of these shapes
    np.savez(folder / "batch.npz", tokens=batch.tokens, labels=batch.labels)
    compiled = {name: jax.jit(functions[name]) for name in PAIRS}
    found = {name: product(params, v) for name, product in compiled.items()}
    forms = {n: f if n == "form" else optax.tree.vdot(f, v) for n, f in found.items()}
    numbers = {name: float(form) for name, form in forms.items()}
    (folder / "ours.json").write_text(json.dumps(numbers))

    def work(name: str) -> Callable[[], None]:
        def several() -> None:
            jax.block_until_ready([compiled[name](params, v) for _ in range(plan.num_products)])

        return several

    return {name: work(name) for name in PAIRS}


if __name__ == "__main__":
    use_compilation_cache()
    serve(works(Path(sys.argv[1]), Plan(**json.loads(sys.argv[2]))))
