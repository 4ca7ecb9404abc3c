"""The margin of a network's last layer, as a share of the largest on the same features.

The experiment's runs import this file; their config names it.
"""

import jax
import numpy as np
from jaxtyping import Float, Int

from el_jax.linear_ntp import NotSeparableError, NTPProblem, UndecidedError, max_margin
from el_jax.linear_ntp.theory.norms import Norm, logit_margin, matrix_norm
from el_jax.probes import PROBES
from el_jax.probes.over_runs import over_runs_on_host
from el_jax.process.compilation import Once
from el_jax.tasks import PaddedCopy, Task
from el_jax.types import ModelFns, Params, Probe
from experiments.el_last_layer.probe import features

MARGINS: tuple[Norm, ...] = ("frobenius", "max")
GAP = 1e-3  # relative, of a max margin


def head_margins(task: Task, model: ModelFns) -> Probe:
    """Probe the last layer's margins on the training strings.

    Features are the inputs of the last layer, W its matrix with the mean over tokens subtracted.

    - ``errs``: the share of training strings that the network gets wrong;
    - ``separable``: 1 if some last layer is right on all of them, 0 if none is, NaN if undecided;
    - ``share_NORM``: least margin of W / NORM(W), over that of the best last layer; negative while
      the network errs, NaN unless the strings are separable.

    Raises:
        ValueError: the task is not the copy task with answers of one letter, or the model's logits
            are not a product of features and a last layer.
    """
    if not isinstance(task, PaddedCopy) or task.copy_length != 1 or model.readout is None:
        raise ValueError("needs the copy task with copy_length=1 and a model with a last layer")
    batch, read = Once(lambda: task.pack(task.train_set())), jax.jit(model.readout)

    def of_run(params: Params) -> dict[str, float]:
        hidden, kernel = features(read(params, batch()))
        return shares(kernel.T, hidden, np.asarray(batch().labels).ravel())

    return over_runs_on_host(of_run)


def shares(
    head: Float[np.ndarray, "V E"], hidden: Float[np.ndarray, "n E"], labels: Int[np.ndarray, " n"]
) -> dict[str, float]:
    """The probe's numbers for one network."""
    support = np.arange(len(head))[:, None] == labels
    problem = NTPProblem(hidden.T, np.full(len(labels), 1 / len(labels)), support.astype(float))
    centred = head - head.mean(axis=0)
    margin = float(logit_margin(centred @ hidden.T, support).margin.min())
    numbers = {"errs": float(((head @ hidden.T).argmax(0) != labels).mean()), "separable": 1.0}
    for norm in MARGINS:
        try:
            best = max_margin(problem, norm, tolerance=GAP).margin
        except (NotSeparableError, UndecidedError) as error:
            numbers["separable"] = 0.0 if isinstance(error, NotSeparableError) else np.nan
            return numbers | {f"share_{norm}": np.nan for norm in MARGINS}
        numbers[f"share_{norm}"] = margin / float(matrix_norm(centred, norm)) / best
    return numbers


PROBES["head_margins"] = head_margins
