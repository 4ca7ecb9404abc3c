# %% [markdown]
# # Linear next-token prediction: where does training go?
#
# Freeze the embeddings of contexts and train only the decoder, one vector per word. Theory
# (Thrampoulidis 2024, "Implicit Optimization Bias of Next-token Prediction in Linear Models") then
# answers two questions. When can the loss come down to the entropy of the data? Which of the many
# decoders that reach it does gradient descent pick? This notebook shows both answers on data that
# are small enough to draw: three contexts in the plane and five words. It needs no accelerator. Run
# the cells from top to bottom; this takes about a minute.

# %%
# %matplotlib inline
import numpy as np
from IPython.display import Markdown

from el_jax.linear_ntp import (
    NTPProblem,
    analyze,
    antipodal_problem,
    duplicate_problem,
    figure1_problem,
    regularization_path,
    run_trajectory,
)
from el_jax.plots import (
    add_note,
    add_question,
    add_title,
    new_figure,
    plot_geometry,
    plot_trajectory,
)
from el_jax.process.compilation import use_compilation_cache

use_compilation_cache()  # what was computed before is not compiled again

# %% [markdown]
# ## 1. Three contexts, five words
#
# The next cell prints two matrices. Each column is a context: its place in the plane, and the
# probability of each word after it. A zero means that the word never follows. To move the contexts,
# set the sliders and run the cells below again.

# %%
# @title Contexts: angles in degrees
ANGLE_1 = 90  # @param {type:"slider", min:0, max:360, step:5}
ANGLE_2 = 210  # @param {type:"slider", min:0, max:360, step:5}
ANGLE_3 = 330  # @param {type:"slider", min:0, max:360, step:5}


def toy(angles):
    """The problem of Figure 1 of the paper, with its contexts at these angles."""
    base, turned = figure1_problem(), np.deg2rad(angles)
    circle = np.stack([np.cos(turned), np.sin(turned)])
    return NTPProblem(circle, base.context_probs, base.next_token_probs)


problem = toy((ANGLE_1, ANGLE_2, ANGLE_3))
print("contexts, one column each:", problem.embeddings.round(2), sep="\n")
print("next words, one row each:", problem.next_token_probs, sep="\n")

# %% [markdown]
# ## 2. Can the data be fitted?
#
# The words that follow a context are its *support*. The loss can reach the entropy if two
# conditions hold together. **Compatible**: some decoder W\* gives exactly the ratios of the
# probabilities inside every support. **Separable**: some decoder gives equal logits to the words
# that follow a context, and smaller logits to all others. As this decoder grows, the words that
# never follow lose all probability. Each verdict comes with a certificate, which plain arithmetic
# has checked.

# %%
analysis = analyze(problem)
Markdown("\n".join(f"- {line}" for line in analysis.describe()))

# %% [markdown]
# Among all decoders that separate the data by a margin of 1, the smallest is the **max-margin**
# decoder W_mm. It knows only *which* words follow. Words 1 and 5 follow the same contexts, so they
# share a vector. W\* knows *how often* they follow, and gives them different vectors. The two
# decoders are orthogonal.


# %%
def angle(first, second):
    """Between two matrices, in degrees."""
    cosine = np.vdot(first, second) / np.linalg.norm(first) / np.linalg.norm(second)
    return np.rad2deg(np.arccos(np.clip(cosine, -1, 1)))


def draw_decoders(problem, decoders, answer):
    """Contexts as black circles, the vectors of words as stars, one panel per decoder."""
    figure, axes = new_figure(1, len(decoders), size=(3.6 * len(decoders), 4.2))
    add_question(figure, answer)
    for letter, ax, (title, decoder) in zip("abc", axes[0], decoders.items(), strict=False):
        plot_geometry(ax, problem.embeddings, decoder)
        add_title(ax, f"({letter}) {title}")
        ax.set_xlabel("first coordinate")
    axes[0, 0].set_ylabel("second coordinate")
    add_note(figure, "circles: contexts; stars: vectors of words, '=' where they coincide")
    return figure


solutions = {"W*, finite part": analysis.finite}
answer = "Not separable: no max-margin decoder"
if analysis.margins:
    solutions["W_mm, max margin"] = analysis.margins["frobenius"].w
    between = angle(*solutions.values())
    answer = f"W* and W_mm stand at {between:.0f}° to one another"
draw_decoders(problem, solutions, answer)

# %% [markdown]
# ### Data that cannot be fitted
#
# Here are four ways to lose a condition:
#
# - The contexts lie on one side of the plane.
# - Two contexts with the same words lie opposite one another, so whatever raises a word in one
#   lowers it in the other.
# - Two contexts with different words lie in one place.
# - Two contexts with the same words lie in one place, but the words have other ratios.
#
# Training then separates what can be separated. `limit_problem` finds the probabilities that
# training tends to.

# %%
BROKEN = {
    "contexts on one side of the plane": toy((90.0, 150.0, 200.0)),
    "opposite contexts, the same words": antipodal_problem(2),
    "one place, different words": duplicate_problem(2),
    "one place, the same words, other probabilities": duplicate_problem(2, same_support=True),
}
said = []
for name, broken in BROKEN.items():
    said.append(f"- **{name}**")
    for line in analyze(broken).describe():
        if line.removeprefix("not ").startswith(("compatible", "separable", "training separates")):
            said.append(f"    - {line}")
Markdown("\n".join(said))

# %% [markdown]
# ## 3. Where gradient descent goes
#
# Theorem 2 says that W grows without bound along W_mm, while its part in the data subspace tends to
# W\*. After a long training W is about W\* + t W_mm. Dashed red lines are predictions of the
# theory, not fits. The loss above the entropy falls as 1 / (γ² η k), and the size of W grows by
# log k / γ, for the margin γ, the step size η and the number of steps k. The direction is slow: it
# converges as 1 / log k.


# %%
# @title Training
NUM_STEPS = 100000  # @param {type:"integer"}


def outcome(method, ran):
    """The figure's title: how far the training came, in numbers."""
    last = {metric: values[-1] for metric, values in ran.metrics.items()}
    title = f"{method} ends {last['excess_loss']:.1g} nats above the entropy"
    if "margin_ratio_frobenius" in last:
        title += f", with {last['margin_ratio_frobenius']:.1%} of the largest margin"
    return title


def train(problem, analysis, method, step_size, decay=0.0):
    """Trains from zero and draws the course; returns the decoder at the end."""
    ran = run_trajectory(
        problem, method, step_size, NUM_STEPS, decay=decay, w_mm=analysis.references
    )
    margins = [margin.margin for margin in analysis.margins.values()]
    plain = method == "gd" and decay == 0
    figure = plot_trajectory(
        ran.steps, ran.metrics, question=outcome(method, ran),
        margin=margins[0] if plain and margins else None, step_size=step_size if plain else None,
    )  # fmt: skip
    return ran, figure


descent, figure = train(problem, analysis, "gd", 1 / analysis.smoothness)
figure

# %% [markdown]
# The next figure shows the trained decoder beside its two parts. Its vectors still show both. The
# long part, which words 1 and 5 share, is W_mm; the difference between the two words is W\*.

# %%
trained = {**solutions, f"W after {NUM_STEPS:,} steps": descent.final}
if analysis.margins:
    between = angle(descent.final, solutions["W_mm, max margin"])
    answer = f"After {NUM_STEPS:,} steps W stands at {between:.0f}° to W_mm, ‖W‖ = " + (
        f"{np.linalg.norm(descent.final):.1f}"
    )
draw_decoders(problem, trained, answer)

# %% [markdown]
# ## 4. Theorem 1: the best decoder in a ball
#
# This section needs no training. Let W minimise the loss among decoders of size at most B. As B
# grows, W turns to W_mm, and its part in the data subspace tends to W\*. The cell finds each W
# exactly.

# %%
if analysis.margins:
    balls = regularization_path(problem, radius=[2, 5, 15, 45], w_mm=analysis.references)
    turned, off = balls.metrics["cosine_frobenius"], balls.metrics["finite_error"]
    for B, cosine, distance in zip(balls.metrics["norm"], turned, off, strict=True):
        print(f"B = {B:4.0f}: cosine with W_mm {cosine:.4f}, part in F off W* by {distance:.0e}")
else:
    print("These contexts are not separable: there is no W_mm to turn to.")

# %% [markdown]
# ## 5. Another optimizer
#
# Choose another `METHOD` and run the cell again; `"ngd"` normalises gradients. Steps shrink as
# (k + 1)^-`DECAY`. Look at the finite part. A normalised method with constant steps (`DECAY = 0.0`)
# stops about half a step away from W\*. Other methods also turn to other margins; see
# `experiments/ntp_optimizers`.

# %%
# @title Another optimizer
METHOD = "ngd"  # @param ["gd", "ngd", "sign", "adam", "spectral", "muon", "polyak"]
STEP_SIZE = 0.1  # @param {type:"number"}
DECAY = 0.5  # @param {type:"slider", min:0.0, max:1.0, step:0.25}

other, figure = train(problem, analysis, METHOD, STEP_SIZE, DECAY)
figure

# %%
for name, ran in {"gd": descent, METHOD: other}.items():
    last = {metric: values[-1] for metric, values in ran.metrics.items()}
    print(
        f"{name}: CE - H = {last['excess_loss']:.2e} nats, "
        f"distance from W* = {last['finite_error']:.2e}, "
        f"margin = {last.get('margin_ratio_frobenius', np.nan):.3f} of the largest"
    )

# %% [markdown]
# ## 6. Exercises
#
# Claims grade each answer, as they do in the experiments of the repository. Change the form, run
# the cell, and read which claims hold.

# %%
# @title Exercise 1: place the contexts so that the data are compatible but not separable
MY_ANGLE_1 = 90  # @param {type:"slider", min:0, max:360, step:5}
MY_ANGLE_2 = 210  # @param {type:"slider", min:0, max:360, step:5}
MY_ANGLE_3 = 330  # @param {type:"slider", min:0, max:360, step:5}

from experiments.harness.claims import number
from experiments.harness.exercises import grade

mine = analyze(toy((MY_ANGLE_1, MY_ANGLE_2, MY_ANGLE_3)))
grade(
    [
        number("the data are compatible", "compatible", {}, at_least=1),
        number("they are not separable", "separable", {}, at_most=0),
    ],
    compatible=mine.compatibility.holds,
    separable=mine.separability.holds,
)

# %%
# @title Exercise 2: predict after how many steps gradient descent is 1e-4 nats above the entropy
MY_STEPS = 1000  # @param {type:"integer"}
# Do not try, predict: the margin γ and the step η = 1 / smoothness are those of section 2.

base = analyze(toy((90, 210, 330)))
print(f"γ = {base.margins['frobenius'].margin:.3f}, η = {1 / base.smoothness:.3g}")
ran = run_trajectory(base.problem, "gd", 1 / base.smoothness, MY_STEPS)
grade(
    [
        number(
            "the excess loss is .8e-4 to 1.2e-4 nats", "excess", {}, at_least=8e-5, at_most=1.2e-4
        )
    ],
    excess=ran.metrics["excess_loss"][-1],
)

# %%
# @title Exercise 3: bring the finite part near W* with steps that do not shrink with the gradient
MY_METHOD = "ngd"  # @param ["ngd", "sign", "spectral"]
MY_STEP_SIZE = 0.1  # @param {type:"number"}
MY_DECAY = 0.0  # @param {type:"slider", min:0.0, max:1.0, step:0.25}

ran = run_trajectory(base.problem, MY_METHOD, MY_STEP_SIZE, 2_000, decay=MY_DECAY)
grade(
    [number("it is within .005 of W* after 2,000 steps", "distance", {}, at_most=0.005)],
    distance=ran.metrics["finite_error"][-1],
)
