"""Products with curvature matrices against PyHessian and curvlinops, on one network.

A probe of Hutchinson's trace is a form v'Hv here, and a product H v with a scalar product in
PyHessian; both libraries draw signs, so that as many probes have one standard error.

PyHessian's form and curvlinops' v'Gv must be ours. The error of curvlinops' H v is measured: the
entries of a layer norm's weights are wrong, since PyTorch 2.13 differentiates ``jacrev`` of a layer
norm wrongly. ``torch.func.grad`` in its place gives PyHessian's product, and ours.
"""

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from experiments.bench import curvature
from experiments.bench.measurement import Measurement
from experiments.bench.paired import compare
from experiments.bench.pytorch import DisagreementError
from experiments.bench.pytorch_environment import NoPyTorchError, python_with_pytorch
from experiments.bench.worker import Worker, cores

AGREEMENT = 1e-3  # of forms, relative
PAIRS = {  # our task, theirs, and the name of the ratio of their time to ours
    "form": ("pyhessian_probe", "a probe of the trace, PyHessian / ours"),
    "hvp": ("curvlinops_hvp", "H v, curvlinops / ours"),
    "ggn": ("curvlinops_ggn", "G v, curvlinops / ours"),
}
MUST_AGREE = ("form", "ggn")
ERROR = "H v by curvlinops, relative error of the worst leaf"


class Plan(NamedTuple):
    """The network of ``curvature``, whose ``num_products`` are a timing, and number of rounds."""

    network: curvature.Plan


PLANS = {
    "smoke": Plan(curvature.PLANS["smoke"]),
    "cpu": Plan(curvature.PLANS["cpu"]._replace(num_products=5)),
    "gpu": Plan(curvature.PLANS["cpu"]),  # nothing here is made for a GPU
}


def measure(plan: Plan) -> Iterator[Measurement]:
    """Times of the peers over ours, both on one core.

    Raises:
        DisagreementError: the sides do not compute the same.
    """
    case = curvature.name_of(plan.network)
    try:
        python = python_with_pytorch(cuda=False)
    except NoPyTorchError as error:
        yield Measurement(case, not_measured=str(error))
        return
    values: dict[str, float | np.ndarray] = {}
    core = next(iter(cores()), None)
    with tempfile.TemporaryDirectory() as folder:
        asked = [folder, json.dumps(plan.network._asdict())]
        with Worker("experiments.bench.curvature_ours", asked, core) as ours:
            ours.ready()
            with Worker("experiments.bench.curvature_theirs", asked, core, python) as theirs:
                theirs.ready()
                values[ERROR] = check_agreement(Path(folder))
                for name, (other, ratio) in PAIRS.items():
                    found = compare(ours.timing(name), theirs.timing(other), plan.network.rounds)
                    values[ratio] = found.ratios
    yield Measurement(case, values)


def check_agreement(folder: Path) -> float:
    """Check that the sides give the same forms, where they must.

    Args:
        folder: the folder of ``ours.json`` and ``theirs.json``, numbers by task.

    Returns:
        The largest relative error of a leaf of curvlinops' H v, by PyHessian's.

    Raises:
        DisagreementError: names the task and both numbers.
    """
    ours, theirs = (
        json.loads((folder / f"{side}.json").read_text()) for side in ("ours", "theirs")
    )
    for name in MUST_AGREE:
        other = PAIRS[name][0]
        if not abs(theirs[other] / ours[name] - 1) <= AGREEMENT:
            raise DisagreementError(f"{other} gives {theirs[other]:.6g}, we {ours[name]:.6g}")
    return theirs["worst_leaf"]
