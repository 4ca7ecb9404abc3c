# %% [markdown]
# # Flatness: equal loss, different curvature, different features
#
# Masked language models can have the same pre-training loss and still differ downstream. Liu, Xie,
# Li and Ma (2023, "Same Pre-training Loss, Better Downstream") say that the trace of the Hessian of
# the loss tells such models apart. Among models with equal loss, the flatter one has the better
# features.
#
# This notebook trains small masked models on sentences of a hidden Markov model. The true
# conditionals of this world are known, so "the same loss" is a number and not a guess. The notebook
# follows divergence, features and curvature. It also trains one model *against* its downstream
# task, and measures the curvature of any loss that you write. You need no account and no download
# except the code. Run the cells from top to bottom; this takes a few minutes on two CPU cores.

# %%
# %matplotlib inline
import contextlib
import time
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from IPython.display import Markdown

from configs import common
from configs.flatness.masked import get_config
from el_jax import build, plots
from el_jax.curvature import Fisher, Hessian, hutch_plus_plus, xtrace
from el_jax.probes import context_logits, contexts_of
from el_jax.probes.contexts import context_cross_entropy
from el_jax.process.compilation import use_compilation_cache
from el_jax.training.fit import Training, fit
from el_jax.training.progress import progress
from el_jax.training.sinks import History
from el_jax.types import Params

use_compilation_cache()  # what was trained before is not compiled again

# %%
# @title What to train
SEEDS = 2  # @param {type:"slider", min:1, max:8, step:1}
NUM_UPDATES = 1600  # @param {type:"slider", min:200, max:20000, step:200}
LABEL = "state_5"  # @param ["state_3", "state_4", "state_5", "state_6"]
WEIGHT = 0.1  # @param {type:"slider", min:0.0, max:1.0, step:0.01}
SCALE = "small"  # @param ["small", "smoke"]
# small: 2 layers of width 64. smoke: to see that it runs, not to learn.

# %% [markdown]
# ## 1. A world whose conditionals are known
#
# A hidden Markov model draws sentences of eight words. Its hidden state moves from word to word,
# and each state has words of its own. Forward and backward messages give the exact distribution of
# any word given all others. The mean entropy of this distribution is the floor: no masked model has
# a lower loss.


# %%
def configure(weight=0.0):
    """The setting of `configs/flatness/masked.py` with the changes of this notebook."""
    config = get_config("world=hmm,smoke" if SCALE == "smoke" else "world=hmm")
    on_cpu = jax.default_backend() == "cpu"
    config.task.sentences_per_update = 64
    every = max(1, NUM_UPDATES // 4 // config.train.log_every) * config.train.log_every
    config.train.update(
        num_updates=NUM_UPDATES,
        seeds=SEEDS,
        eval_every=every,
        checkpoint_every=NUM_UPDATES,
        probes=("true_conditional", "curvature", "downstream"),
        run_axis="map" if on_cpu else "vmap",  # seeds one after the other, or all together
    )
    config.optim.update(schedule="constant", peak_lr=3e-3, warmup_steps=NUM_UPDATES // 20)
    config.task.downstream = (LABEL,)
    if weight:
        config.adversary = common.adversary(LABEL, weight=weight, num_examples=128)
    return config


task = build.parse(configure()).task
world = task.world.make()
sentences = task.downstream_set(4)
conditionals = np.exp(world.log_conditionals(sentences.tokens))
for words, laws in zip(np.asarray(sentences.tokens), conditionals, strict=True):
    place = 4
    likely = np.argsort(-laws[place])[:3]
    shown = [str(word) if at != place else "?" for at, word in enumerate(words)]
    guesses = ", ".join(f"{word} ({laws[place][word]:.2f})" for word in likely)
    print(f"{' '.join(shown):26} ? is {guesses}; it was {words[place]}")

# %% [markdown]
# ## 2. Train
#
# We train two models. The first minimises only the loss. The second is also trained *against* the
# downstream task, whose label is the hidden state at one position: it maximises the error of the
# best linear head on its features. Every update finds this head in closed form (appendix A.4 of the
# paper).


# %%
class Result(NamedTuple):
    training: Training
    params: Params  # every leaf with a leading axis of seeds
    history: History


def train(name, training):
    """Trains every seed of one setting."""
    history, started = History(), time.monotonic()
    with contextlib.closing(
        progress(name, training.options.num_updates, training.watched)
    ) as printed:
        state = fit(training, sinks=[history, printed])
    print(f"{name}: {SEEDS} seeds in {time.monotonic() - started:.0f} s")
    return Result(training, state.params, history)


results = {
    name: train(name, build.build(build.parse(configure(weight))))
    for name, weight in {"ordinary": 0.0, f"against {LABEL}, λ={WEIGHT:g}": WEIGHT}.items()
}

# %% [markdown]
# ## 3. Loss, features, curvature
#
# From left to right, the panels show the following numbers against the updates:
#
# - KL, the part of the loss above the floor, in nats per masked word;
# - the accuracy of a linear classifier that predicts the hidden state from the frozen features. The
#   dotted line is the best that any classifier can do given the whole sentence;
# - the trace of the Fisher matrix, always on the same contexts and drawn labels. It equals the
#   trace of the Hessian where the model is the true conditional, and only there.
#
# Look for two models with the same KL. Is the model with the worse features also the sharper one?

# %%
PANELS = {
    "kl": "KL from the truth, nats",
    f"downstream_{LABEL}": "accuracy of the probe",
    "fisher_trace": "trace of the Fisher matrix",
}
COLOURS = ("#0072b2", "#d55e00")


def last(name, metric):
    """The mean over seeds after the last update."""
    return results[name].history.curve(metric)[1][-1].mean()


figure, (axes,) = plots.new_figure(1, 3, size=(11, 3.9))
for letter, ax, (metric, title) in zip("abc", axes, PANELS.items(), strict=True):
    for (name, result), colour in zip(results.items(), COLOURS, strict=True):
        steps, values = result.history.curve(metric)
        curve = plots.Curve(steps, values.T)
        plots.plot_curve(ax, curve, colour=colour, label=name, num_sems=1.0)
    plots.add_title(ax, f"({letter}) {title}")
    ax.set_xlabel("updates")
bayes = last("ordinary", f"downstream_{LABEL}_bayes")
plots.add_chance_line(axes[1], bayes, name="best possible")
(plain, against) = results
shown = [
    f"{words} {last(plain, metric):.3g} and {last(against, metric):.3g}"
    for words, metric in zip(("KL", "probe", "trace"), PANELS, strict=True)
]
plots.add_question(figure, f"Ordinary, and against the label: {', '.join(shown)}")
plots.add_legend(
    figure, axes[0].get_lines(), note="bands: one standard error over seeds of one world"
)
figure

# %% [markdown]
# ## 4. The spectrum
#
# A trace is the sum of all eigenvalues. Lanczos' method finds both ends of the spectrum, with
# residuals that tell how far off they can be. It also finds the density of all eigenvalues in
# between.

# %%
NUM_CONTEXTS = 128  # @param {type:"slider", min:32, max:1024, step:32}

windows, labels = contexts_of(task.pack(task.train_set()), most=NUM_CONTEXTS)
model = build.model_of(build.parse(configure()), exact=True)
cross_entropy = context_cross_entropy(context_logits(model))


def first_seed(result):
    return jax.tree.map(lambda leaf: leaf[0], result.params)


@jax.jit
def measure_spectrum(params):
    """The largest eigenvalue, the least, and the density."""
    hessian = Hessian(cross_entropy, params).over(windows, chunk=NUM_CONTEXTS)
    keys = jax.random.split(jax.random.key(0), 3)
    largest = hessian.eigenvalues(keys[0], 1, num_steps=20)
    least = hessian.eigenvalues(keys[1], 1, num_steps=20, end="smallest")
    return largest, least, hessian.density(keys[2], num_probes=4, num_steps=20)


figure, ((ax,),) = plots.new_figure(size=(8, 3.8))
ends = {}
for (name, result), colour in zip(results.items(), COLOURS, strict=True):
    largest, least, density = measure_spectrum(first_seed(result))
    ends[name] = least.values[0], largest.values[0]
    print(f"{name}: largest {largest.values[0]:.3f} ± {largest.residuals[0]:.1g}, ", end="")
    print(f"least {least.values[0]:.3f} ± {least.residuals[0]:.1g}")
    nodes, shares = np.asarray(density.nodes), np.asarray(density.weights)
    shares = np.maximum(shares / len(shares), 1e-12)  # the mean over probes
    ax.plot(nodes.ravel(), shares.ravel(), "o", color=colour, label=name)
ax.set_yscale("log")
ax.set_xlabel("eigenvalue of the Hessian, nats per squared parameter")
ax.set_ylabel("share of all eigenvalues")
shown = " and ".join(f"{low:.1f} to {high:.1f} ({name})" for name, (low, high) in ends.items())
plots.add_question(figure, f"Eigenvalues from {shown}")
plots.add_legend(figure, ax.get_lines())
figure

# %% [markdown]
# ## 5. The curvature of your own loss
#
# `el_jax.curvature` sees only `loss(params)`. Every estimate comes with its standard error. The
# exact trace of a small loss shows how good the estimates are.


# %%
def my_loss(params):
    """A two-layer network on made-up data: replace it."""
    hidden = jnp.tanh(INPUTS @ params["in"])
    return jnp.square(hidden @ params["out"] - TARGETS).mean()


key = jax.random.key(0)
INPUTS, TARGETS = jax.random.normal(key, (64, 10)), jnp.sin(jnp.arange(64.0))
my_params = {"in": jax.random.normal(key, (10, 16)) / 3, "out": jnp.ones(16) / 16}

estimators = {
    "Hutchinson, 60 probes": lambda: Hessian(my_loss, my_params).trace(key, 60),
    "Hutch++, 20": lambda: hutch_plus_plus(Hessian(my_loss, my_params), key, 20),
    "XTrace, 20": lambda: xtrace(Hessian(my_loss, my_params), key, 20),
}
rows = ["|estimator|trace|standard error|", "|---|---|---|"]
for name, estimate in estimators.items():
    mean, sem = jax.jit(estimate)()
    rows.append(f"|{name}|{mean:.4f}|{sem:.4f}|")
rows.append(f"|exact|{jax.jit(lambda: Hessian(my_loss, my_params).exact_trace())():.4f}|0|")
Markdown("\n".join(rows))

# %% [markdown]
# For language models the error that comes from the *contexts* is the larger one, and most
# estimators in use leave it out. The traces of `Fisher` report both errors. The next cell computes
# the trace twice: with all labels, where no label is drawn, and with four labels drawn in each
# context.

# %%
kinds = {
    "all labels": Fisher.all_labels_trace,
    "4 drawn labels": lambda fisher: fisher.sampled_trace(key, num_labels=4),
}
for name, trace in kinds.items():
    found = jax.jit(
        lambda params, trace=trace: trace(Fisher(context_logits(model), params, windows))
    )(first_seed(results["ordinary"]))
    print(f"{name}: {found.mean:.2f} ± {found.sem:.2f}, of which by drawing {found.probe_sem:.2f}")

# %% [markdown]
# Four experiments of this kind have more seeds, other worlds and judged claims:
# `experiments/flat_time`, `flat_size`, `flat_adversarial` and `flat_elearn`. Use
# `python -m el_jax.measure` to measure a training of your own.

# %% [markdown]
# ## 6. Exercises
#
# Claims grade each answer, as they do in the experiments of the repository. Change the form, run
# the cell, and read which claims hold.

# %%
# @title Exercise 1: predict how many probes bring Hutchinson's standard error to 1 % of the trace
MY_PROBES = 60  # @param {type:"integer"}
# Do not try, predict from the error of 60 probes above. At most twice as many as needed.

from experiments.harness.claims import level, number
from experiments.harness.exercises import grade

mean, sem = jax.jit(lambda: Hessian(my_loss, my_params).trace(key, MY_PROBES))()
grade(
    [number("the error is .7 to 1 % of the trace", "error", {}, at_least=0.007, at_most=0.0101)],
    error=sem / mean,
)

# %%
# @title Exercise 2: compute the same function with a quarter of the trace
MY_SCALE = 1.0  # @param {type:"number"}


def behind_a_norm(weights):
    """The loss of a layer that is normalised: any multiple of the weights computes the same."""
    hidden = INPUTS @ weights
    hidden = (hidden - hidden.mean(1, keepdims=True)) / hidden.std(1, keepdims=True)
    return jnp.square(hidden.mean(1) + hidden[:, 0] - TARGETS).mean()


before, after = (
    jax.jit(lambda c=c: Hessian(behind_a_norm, c * my_params["in"]).exact_trace())()
    for c in (1.0, MY_SCALE)
)
losses = [behind_a_norm(c * my_params["in"]) for c in (1.0, MY_SCALE)]
grade(
    [
        number("the loss is the same", "difference", {}, at_least=-1e-5, at_most=1e-5),
        number("the trace is a quarter", "ratio", {}, at_least=0.249, at_most=0.251),
    ],
    difference=losses[1] - losses[0],
    ratio=after / before,
)

# %%
# @title Exercise 3: which estimator has an error below .2 % if eigenvalues fall as 1 / k²?
MY_ESTIMATOR = "Hutchinson"  # @param ["Hutchinson", "Hutch++", "XTrace"]

eigenvalues = 1 / jnp.arange(1.0, 201) ** 2
basis = jnp.linalg.qr(jax.random.normal(key, (200, 200)))[0]
falling = Hessian(lambda x: (eigenvalues * jnp.square(basis @ x)).sum() / 2, jnp.ones(200))
of_60_products = {
    "Hutchinson": lambda key: falling.trace(key, 60),
    "Hutch++": lambda key: hutch_plus_plus(falling, key, 20),
    "XTrace": lambda key: xtrace(falling, key, 30),
}
found = jax.jit(jax.vmap(of_60_products[MY_ESTIMATOR]))(jax.random.split(key, 20))
errors = jnp.abs(found.mean / eigenvalues.sum() - 1)
grade([level("its mean error is at most .2 %", "error", {}, at_most=0.002)], error=errors)
