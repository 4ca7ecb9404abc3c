"""XLA computes right sums in every process of ours."""

import os
import pathlib
import re
import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from configs.el.copy import get_config
from el_jax import build
from el_jax.linear_ntp import random_problem, run_trajectory
from el_jax.linear_ntp.theory.objective import arrays, excess_parts, logit_pieces
from el_jax.models import TransformerConfig, transformer
from el_jax.process import arithmetic
from el_jax.tasks import PaddedCopy
from el_jax.training.program import make_program
from tests.process.canary import wrong_sums

ROOT = pathlib.Path(__file__).parents[2]
BROKEN = {"XLA_FLAGS": "--xla_cpu_experimental_ynn_fusion_type=+reduce"}


def python(*arguments, **environment):
    """Run Python in a process without this one's XLA flags."""
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=ROOT,
        env={**os.environ, "XLA_FLAGS": "", **environment},
        capture_output=True,
        text=True,
        timeout=300,
    )


def test_sums_are_right_here():
    assert wrong_sums() == ()
    assert arithmetic.FLAG in os.environ["XLA_FLAGS"]


def test_importing_the_package_is_enough_and_with_the_opposite_flag_sums_are_wrong():
    done = python("-m", "tests.process.canary")
    assert (done.returncode, done.stdout, done.stderr) == (0, "\n", "")
    done = python("-m", "tests.process.canary", **BROKEN)
    if done.stdout == "\n":
        pytest.skip("this jaxlib computes right sums whatever its flags")
    assert done.stdout.startswith("times zeros"), done.stderr


def test_a_product_of_seven_axes_does_not_kill_the_process():
    code = """if True:
        import el_jax, jax, jax.numpy as jnp
        ones = jnp.ones((3, 1, 2, 2, 8, 8, 8))
        print(float(jax.jit(lambda a, b: jnp.sum(a * b, axis=3))(ones, ones).sum()))
    """
    done = python("-c", code)
    assert (done.returncode, done.stdout) == (0, "6144.0\n"), done.stderr


def test_a_flag_that_comes_too_late_is_told():
    code = "import jax; jax.devices(); import el_jax"
    done = python("-W", "error", "-c", code)
    assert done.returncode == 1
    assert "Import el_jax before the first computation" in done.stderr


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("", "{flag}"),
        ("--xla_force_host_platform_device_count=2", "{given} {flag}"),
        ("--xla_cpu_experimental_ynn_fusion_type=", "{given}"),
    ],
)
def test_what_the_user_has_set_stays(given, kept, tmp_path):
    code = "import os, el_jax; print(os.environ['XLA_FLAGS'])"
    wanted = kept.format(given=given, flag=arithmetic.FLAG) + "\n"
    assert python("-c", code, XLA_FLAGS=given).stdout == wanted
    if given:  # XLA also takes the name of a file
        file = tmp_path / "flags"
        file.write_text(given)
        expected = wanted if arithmetic.FLAG in wanted else f"{file}\n"
        assert python("-c", code, XLA_FLAGS=str(file)).stdout == expected


# ── compiled programs ────────────────────────────────────────────────────────────────────────────


def sums_in_ynn(text):
    """Reductions of a compiled program that YNNPACK computes, and everything that it computes."""
    bodies = dict(re.findall(r"^%?([\w.-]+) \(.*\{\n((?:  .*\n)*)\}", text, re.MULTILINE))
    called = re.findall(r"fusion\(.*calls=%?([\w.-]+),.*\"__ynn_fusion\"", text)
    return [name for name in called if re.search(r" reduce(-window)?\(", bodies[name])], called


@pytest.mark.skipif(jax.default_backend() != "cpu", reason="YNNPACK is for CPUs")
def test_no_sum_of_the_training_step_is_left_to_ynnpack():
    config = get_config("loss=e1,scale=small")  # narrower ones leave it none, whatever the flags
    config.model.num_layers = 1
    config.train.update(seeds=1, shard="none")
    program = make_program(build.make_spec(build.parse(config)))
    state = jax.eval_shape(program.init)
    step = jax.jit(lambda state: program.advance(state, 2)).lower(state).compile()
    wrong, called = sums_in_ynn(step.as_text())
    assert called  # YNNPACK does compute products
    assert not wrong


# ── our programs, compiled, operation by operation, and in NumPy ─────────────────────────────────

# on both sides of the sizes at which XLA's kernels change
SIZES = [(15, 17), (16, 16), (17, 15), (31, 33), (32, 32), (33, 31), (64, 64)]
LONG = [(3, 32_767), (3, 32_768), (3, 32_769)]


def softmax(logits):
    weights = np.exp(logits - logits.max(axis=0))
    return weights / weights.sum(axis=0)


@pytest.mark.parametrize(
    "compile_all", [True, pytest.param(False, marks=pytest.mark.slow)], ids=["jit", "eager"]
)
@pytest.mark.parametrize(("dim", "num_contexts"), SIZES + LONG)
def test_loss_gradient_and_hessian_product_of_linear_decoders(dim, num_contexts, compile_all):
    problem = random_problem(num_contexts, dim, dim + 2, 2, seed=0)
    data = arrays(problem)
    H, context_probs, probs = data
    rng = np.random.default_rng(1)
    W = np.stack([np.zeros((dim + 2, dim)), rng.standard_normal((dim + 2, dim))])
    V = rng.standard_normal(W.shape)

    def one(w, v, H, context_probs, probs):
        def loss(w):
            return excess_parts(logit_pieces(w @ H, probs), context_probs, probs).total

        gradient, product = jax.jvp(jax.grad(loss), (w,), (v,))
        return loss(w), gradient, product, jnp.sum(v * product)

    all_runs = jax.vmap(one, in_axes=(0, 0, None, None, None))
    with jax.enable_x64(True):
        inputs = jax.device_put((W, V, *data))
        with jax.disable_jit(not compile_all):
            ours = jax.device_get(jax.jit(all_runs)(*inputs))
    entropy = -np.sum(context_probs * probs * np.log(np.where(probs > 0, probs, 1)))
    for run, (w, v) in enumerate(zip(W, V, strict=True)):
        q, change = softmax(w @ H), v @ H
        spread = q * (change - (q * change).sum(axis=0))
        product = (context_probs * spread) @ H.T
        ce = -np.sum(context_probs * probs * np.log(q))
        exact = ce - entropy, (context_probs * (q - probs)) @ H.T, product, (v * product).sum()
        for value, right in zip(ours, exact, strict=True):
            np.testing.assert_allclose(value[run], right, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(("dim", "num_contexts"), [*SIZES, (3, 32_769)])
def test_the_first_steps_of_several_runs_from_nothing(dim, num_contexts):
    problem = random_problem(num_contexts, dim, dim + 2, 2, seed=0)
    H, context_probs, probs = arrays(problem)
    steps = np.array([0.1, 0.2, 0.4])
    ours = run_trajectory(problem, "gd", steps, 2).final
    for size, w in zip(steps, ours, strict=True):
        exact = np.zeros_like(w)
        for _ in range(2):
            exact -= size * (context_probs * (softmax(exact @ H) - probs)) @ H.T
        np.testing.assert_allclose(w, exact, rtol=1e-10, atol=1e-13)


@pytest.mark.slow  # operation by operation, compilation takes a minute
@pytest.mark.parametrize("width", [16, 40])
def test_hessian_products_of_a_transformer(width):
    task = PaddedCopy(padding_length=6, num_train=16)
    batch = task.batch_at(task.train_set(), 0, jax.random.key(0))
    config = TransformerConfig(
        vocab_size=task.vocab_size, width=width, num_layers=1, num_heads=2, rotary_fraction=0.5
    )
    model = transformer(config)
    params = jax.jit(model.init)(jax.random.key(0))
    rng = np.random.default_rng(0)  # two probes: all ones, and normal
    probes = jax.tree.map(
        lambda a: jnp.stack([jnp.ones_like(a), rng.standard_normal(a.shape, np.float32)]), params
    )

    def loss(params):
        log_probs = jax.nn.log_softmax(model.apply(params, batch))
        return -jnp.take_along_axis(log_probs, batch.labels[..., None], -1).mean()

    def forms(probes):
        def one(probe):
            product = jax.jvp(jax.grad(loss), (params,), (probe,))[1]
            pairs = zip(jax.tree.leaves(probe), jax.tree.leaves(product), strict=True)
            return product, sum(jnp.sum(a * b) for a, b in pairs)

        return jax.vmap(one)(probes)

    compiled = jax.device_get(jax.jit(forms)(probes))
    with jax.disable_jit():
        eager = jax.device_get(forms(probes))
    for ours, theirs in zip(jax.tree.leaves(compiled), jax.tree.leaves(eager), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=2e-5 * np.abs(theirs).max())
