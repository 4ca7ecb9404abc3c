"""Measure the curvature of a training's checkpoints, or of a published model.

    python -m el_jax.measure --workdir=WORKDIR [--config=configs/flatness/measure.py:smoke]

The default config is configs/flatness/measure.py. WORKDIR belongs to a training, which may still be
running, or is a published causal model: a Hugging Face folder, a GGUF file, or smollm2. A published
model is measured on ``--config.text``. Prints the loss, its divergence from the true distribution
if that is known, the traces of the Fisher matrix and the Hessian with standard errors, and both
ends of the Hessian's spectrum; for several steps of a run also the paired changes of loss and
traces. Writes curvature.csv and curvature.png into WORKDIR, for a published model into the current
folder, or into ``--config.out``. The network computes in float32 with plain attention, whatever it
was trained in.
"""

import csv
import pathlib
from functools import partial

import jax
from ml_collections import ConfigDict

from el_jax.config.measure import parse
from el_jax.config.names import config_names
from el_jax.models.pretrained import is_pretrained
from el_jax.plots import plot_curvature, save_figure
from el_jax.probes import Curvature, NotFiniteError, contexts_of, measurement
from el_jax.probes.curvature_report import line, row, shown
from el_jax.process import launch
from el_jax.subjects import measure_each, subject_of

CONFIG = "configs/flatness/measure.py"  # the default
HEADS = ("run", "seed", "step", "metric", "value", "sem", "context_sem", "probe_sem", "sha256")


def measure(config: ConfigDict, source: pathlib.Path) -> None:
    """Measure the checkpoints that the config names; print and write the results."""
    settings = parse(config)
    subject = subject_of(source, settings)
    out = pathlib.Path(settings.out or ("." if is_pretrained(source) else source))
    windows, labels = contexts_of(subject.batch, most=settings.contexts)
    print(
        f"{source}: {len(labels)} contexts of {subject.words}; compiling takes a minute or two, "
        "the first time only ...",
        flush=True,
    )
    key = jax.random.key(settings.seed)
    of = measurement(subject.task, subject.model, windows, key, **settings.draws)
    found: dict[str, Curvature] = {}
    lost: list[str] = []
    out.mkdir(parents=True, exist_ok=True)
    with (out / "curvature.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(HEADS)
        for checkpoint, curvature, changes in measure_each(subject, of, lost):
            print(checkpoint)
            for name, value in (curvature.estimates | changes).items():
                print(line(name, value), flush=True)
                writer.writerow((*checkpoint[:3], *row(name, value), subject.sha256))
            file.flush()  # an interrupted run keeps its rows
            found[str(checkpoint)] = curvature
    if found:
        _draw(found, out / "curvature.png")
        print(f"table and figure: {out / 'curvature.csv'}, {out / 'curvature.png'}")
    if lost:
        raise NotFiniteError(
            f"{'; '.join(lost)}. {out / 'curvature.csv'} has the {len(found)} others"
        )


def _draw(found: dict[str, Curvature], path: pathlib.Path) -> None:
    densities = {name: each.density for name, each in found.items() if each.density is not None}
    traces = {name: each.traces() for name, each in found.items()}
    name, last = list(found.items())[-1]
    question = f"{name}: Tr H {shown(last.estimates['hessian_trace'])}"
    if len(found) > 1:
        question = f"Curvature of {len(found)} sets of parameters, the last {question}"
    save_figure(plot_curvature(densities, traces, question), path)


if __name__ == "__main__":
    launch.run(measure, names=partial(config_names, "measure"), config=CONFIG)
