# %% [markdown]
# # Linear next-token prediction: where does training go?
#
# Freeze the embeddings of contexts and train only the decoder, one vector per word. Then theory
# (Thrampoulidis 2024, "Implicit Optimization Bias of Next-token Prediction in Linear Models") says
# when the loss can come down to the entropy of the data, and which of the many decoders that do it
# gradient descent picks. This notebook shows both on data small enough to be drawn: three contexts
# in the plane and five words. It needs no accelerator; run the cells from top to bottom, which
# takes about a minute.

# %%
# Install. Where the package is importable already this does nothing. Anywhere else, put the address
# of the git repository between the quotes (or into the environment variable EL_JAX_REPOSITORY).
REPOSITORY = ""

import importlib
import importlib.metadata
import os
import pathlib
import subprocess
import sys


def run(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)} failed:\n{done.stdout}{done.stderr}")


def fetch(repository: str) -> pathlib.Path:
    """Clones the repository here and installs its requirements, all but jax itself."""
    if not repository:
        raise RuntimeError(
            "el_jax is not importable: set REPOSITORY to the address of its repository."
        )
    clone = pathlib.Path.cwd() / "el_jax_clone"
    if not clone.exists():
        run("git", "clone", "--quiet", "--depth=1", repository, str(clone))
    # The jax of this machine fits its accelerator, so no package may bring another one.
    listed = (clone / "requirements.txt").read_text().splitlines()
    wanted = [name for name in (line.split("#")[0].strip() for line in listed) if name]
    packages = {d.metadata["Name"]: d.version for d in importlib.metadata.distributions()}
    held = [f"{name}=={packages[name]}" for name in ("jax", "jaxlib") if name in packages]
    (clone / "held.txt").write_text("\n".join(held))
    pip = [sys.executable, "-m", "pip", "install", "--quiet", f"--constraint={clone / 'held.txt'}"]
    run(*pip, *wanted)
    return clone


try:
    from el_jax import __version__
except ImportError:
    here = pathlib.Path.cwd()
    inside = [folder for folder in (here, *here.parents) if (folder / "el_jax/types.py").exists()]
    root = inside[0] if inside else fetch(REPOSITORY or os.environ.get("EL_JAX_REPOSITORY", ""))
    sys.path.insert(0, str(root))
    sys.modules.pop("el_jax", None)
    importlib.invalidate_caches()
    from el_jax import __version__
print("el_jax", __version__)

# %%
# %matplotlib inline
# %config InlineBackend.figure_format = "retina"
import numpy as np

from el_jax.linear_ntp import (
    NTPProblem,
    analyze,
    antipodal_problem,
    duplicate_problem,
    figure1_problem,
    run_trajectory,
)
from el_jax.plots import add_question, add_title, new_figure, plot_geometry, plot_trajectory
from el_jax.runtime import arithmetic
from el_jax.runtime.compilation import use_compilation_cache

use_compilation_cache()  # what was computed before is not compiled again
arithmetic.check()  # that XLA computes right sums here
NUM_STEPS = 200 if os.environ.get("SMOKE") else 100_000

# %% [markdown]
# ## 1. Three contexts, five words
#
# Each column is a context: its place in the plane, and how likely each word is after it. A zero
# means that the word never follows. Move the contexts by changing `ANGLES` and run the cells after
# it again.

# %%
ANGLES = (90.0, 210.0, 330.0)  # degrees


def toy(angles):
    """The problem of Figure 1 of the paper, with its contexts at these angles."""
    base, turned = figure1_problem(), np.deg2rad(angles)
    circle = np.stack([np.cos(turned), np.sin(turned)])
    return NTPProblem(circle, base.context_probs, base.next_token_probs)


problem = toy(ANGLES)
print("contexts, one column each:", problem.embeddings.round(2), sep="\n")
print("next words, one row each:", problem.next_token_probs, sep="\n")

# %% [markdown]
# ## 2. Can it be fitted?
#
# Two conditions together let the loss reach the entropy. **Compatible**: some decoder W\* has the
# ratios of the probabilities inside every support, exactly. **Separable**: some decoder gives the
# words that follow a context equal logits, and all others smaller ones; along it, the words that
# never follow lose all probability. Each verdict comes with a certificate that was checked by
# plain arithmetic.

# %%
analysis = analyze(problem)
for line in analysis.describe():
    print("-", line)

# %% [markdown]
# Of all that separate by 1, the smallest is the **max-margin** decoder W_mm. It knows only *which*
# words follow, so words 1 and 5, which follow the same contexts, share a vector; W\* knows *how
# often*, and parts them. The two are orthogonal.


# %%
def draw_decoders(problem, decoders):
    """Contexts as black circles, the vectors of words as stars, one panel per decoder."""
    figure, axes = new_figure(1, len(decoders), size=(3.6 * len(decoders), 3.6))
    add_question(figure, "Contexts and the vectors of words")
    for ax, (title, decoder) in zip(axes[0], decoders.items(), strict=True):
        plot_geometry(ax, problem.embeddings, decoder)
        add_title(ax, title)
    return figure


solutions = {"W*, finite part": analysis.finite}
if analysis.margins:  # there is none unless the data are separable
    solutions["W_mm, max margin"] = analysis.margins["frobenius"].w
draw_decoders(problem, solutions)

# %% [markdown]
# ### When it cannot
#
# Four ways to lose a condition: turn the contexts so that they lie on one side of the plane; put
# two with the same words opposite one another (what raises a word in one lowers it in the other);
# put two with different words in one place; or two with the same words, at other ratios.

# %%
BROKEN = {
    "contexts on one side of the plane": toy((90.0, 150.0, 200.0)),
    "opposite contexts, the same words": antipodal_problem(2),
    "one place, different words": duplicate_problem(2),
    "one place, the same words, other probabilities": duplicate_problem(2, same_support=True),
}
for name, broken in BROKEN.items():
    print(name)
    for line in analyze(broken).describe()[2:4]:
        print("  -", line)

# %% [markdown]
# ## 3. Where gradient descent goes
#
# Theorem 2: W grows without bound along W_mm while its part in the data subspace comes to W\*, so
# W is about W\* + t W_mm. Dashed red lines are what theory predicts, not fits: the loss above the
# entropy falls as 1 / (γ² η k), the size grows by log k / γ. The direction is slow, as 1 / log k.


# %%
def train(problem, analysis, method, step_size, decay=0.0):
    """Trains from zero and draws the course; returns the decoder at the end."""
    ran = run_trajectory(
        problem, method, step_size, NUM_STEPS, decay=decay, w_mm=analysis.references
    )
    margins = [margin.margin for margin in analysis.margins.values()]
    plain = method == "gd" and decay == 0
    figure = plot_trajectory(
        ran.steps, ran.metrics, question=f"Where does {method} go?",
        margin=margins[0] if plain and margins else None, step_size=step_size if plain else None,
    )  # fmt: skip
    return ran, figure


descent, figure = train(problem, analysis, "gd", 1 / analysis.smoothness)
figure

# %% [markdown]
# The trained decoder beside what it is made of. Its vectors still show both parts: the long one,
# common to words 1 and 5, is W_mm; what parts them is W\*.

# %%
draw_decoders(problem, {**solutions, f"W after {NUM_STEPS} steps": descent.final})

# %% [markdown]
# ## 4. Another optimiser
#
# Change `METHOD` and run the cell again: `"ngd"` (normalised gradients), `"sign"`, `"adam"`,
# `"spectral"`, `"muon"`, `"polyak"`, ... Steps shrink as (k + 1)^-`DECAY`. Look at the finite part:
# a normalised method with constant steps (`DECAY = 0.0`) stops at a distance of about half a step
# from W\*. Other methods also lean to other margins, see `experiments/ntp_optimizers`.

# %%
METHOD, STEP_SIZE, DECAY = "ngd", 0.1, 0.5

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
