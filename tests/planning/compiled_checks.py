"""Checks of a compiled program: from a compiler's facts to what is wrong with them.

See ``el_jax.planning.compile_worker`` for the facts.
"""

import collections
import math
from collections.abc import Callable, Iterator

import jax

from el_jax import build
from el_jax.losses import VOCAB_CHUNK
from el_jax.planning.compiled_text import BETWEEN_SLICES, bytes_needed
from el_jax.planning.machines import machine_of
from el_jax.planning.programs import products_of_update, shapes_of
from el_jax.runtime.target import Target, compiling_for
from el_jax.training.devices.memory import USABLE
from tests.planning.random_tokens import gpt2_config

Check = Callable[[dict], Iterator[str]]


def sends_nothing(facts):
    if facts["messages"]:
        yield f"messages {facts['messages']}, not none"


def sums_gradients_once(facts):
    """One sum over devices an update, of the gradients and the loss; nothing else in the loop."""
    looped = [message[:3] for message in facts["messages"] if message[3]]
    if [kind for kind, _, _ in looped] != ["all-reduce"] or looped[0][2] != 1:
        yield f"messages {looped} an update, not one all-reduce"
    yield from sends_the_gradients(facts)


def sums_gradients_in_groups(config):
    """An update has fewer sums than the parameters have arrays: the compiler joins arrays."""

    def check(facts):
        settings = build.parse(config())
        with compiling_for(Target("tpu", 1)):
            shapes = shapes_of(build.spec_of(settings))
        arrays = len(jax.tree.leaves(shapes.state.params))
        looped = [message[:3] for message in facts["messages"] if message[3]]
        if {kind for kind, _, _ in looped} != {"all-reduce"}:
            yield f"messages {looped} an update, not all-reduces alone"
        if (sums := sum(times for _, _, times in looped)) >= arrays:
            yield f"{sums} sums an update, of {arrays} arrays"
        yield from sends_the_gradients(facts)

    return check


def sends_the_gradients(facts):
    gradients = facts["state"] / 3  # AdamW keeps two numbers beside each parameter
    sent = sum(size * times for _, size, times, is_looped in facts["messages"] if is_looped)
    if not 0.9 * gradients <= sent <= 1.1 * gradients:
        yield f"{sent} bytes an update are sent, not the {gradients:.0f} of the gradients"


def sums_between_slices(facts):
    """Slices of TPUs exchange sums, and no parameters or activations."""
    kinds = {kind for kind, *_ in facts["messages"] if kind.endswith(BETWEEN_SLICES)}
    if kinds != {f"all-reduce{BETWEEN_SLICES}"}:
        yield f"{kinds or 'nothing'} between slices, not sums alone"


def sends_moments_alone(facts):
    """An evaluation pools a few numbers of each run and group at once, and nothing of the model."""
    if len(facts["messages"]) != 1:
        yield f"messages {facts['messages']}, not one"
    if (sent := sum(size * times for _, size, times, _ in facts["messages"])) > 2**12:
        yield f"{sent} bytes are sent, more than the moments of metrics"


def keeps_its_part(facts):
    """A device takes its part of the state and gathers the rest: parameters go around twice."""
    if facts["arguments"] > 1.1 * facts["state"] + 2**20:
        yield f"arguments of {facts['arguments']} bytes, of a part of {facts['state']:.0f}"
    if not any(kind in ("all-gather", "all-reduce") for kind, *_ in facts["messages"]):
        yield f"messages {facts['messages']}: nothing is gathered"


def leaves_the_host_alone(facts):
    if facts["host_transfers"]:
        yield f"exchanges with the host: {facts['host_transfers'][:3]}"


def reuses_the_state(facts):
    if facts["aliased"] < facts["state"]:
        yield f"{facts['aliased']} bytes are aliased, of a state of {facts['state']:.0f}"


def multiplies_in(dtype):
    """Every product has its operands in a type: compilers fuse or move products, but split none."""

    def check(facts):
        types = collections.Counter(operand for operand, _, _ in facts["products"])
        if set(types) != {dtype}:
            yield f"products in {dict(types)}, not all in {dtype}"

    return check


def exponentiates_in_float32(facts):
    """Softmax, of attention scores and of logits, is the exponentials of these models."""
    if set(facts["exponential_types"]) != {"f32"}:
        yield f"exponentials in {facts['exponential_types']}, not all in float32"


def forms_logits_in_float32(tokens, classes=VOCAB_CHUNK):
    """Products whose result is a block of logits, for the loss and again for its gradient."""

    def check(facts):
        types = collections.Counter(
            result
            for _, result, sides in facts["products"]
            if classes in sides and math.prod(sides) == tokens * classes
        )
        if set(types) != {"f32"}:
            yield f"logits in {dict(types)}, not all in float32"

    return check


def forms_scores_in_float32(num_layers, length):
    """Attention scores of each layer; gradients of its weights have their shape, in any type."""

    def check(facts):
        results = [result for _, result, sides in facts["products"] if sides.count(length) == 2]
        if results.count("f32") < num_layers:
            yield f"scores in {results}, not in float32 in each of {num_layers} layers"

    return check


def keeps_no_logits(tokens, vocab_size):
    def check(facts):
        if facts["largest"] >= 2 * tokens * vocab_size:
            yield f"an array of {facts['largest']} bytes, as large as the logits"

    return check


def fits(machine):
    def check(facts):
        room = USABLE * machine_of(machine).chip.memory
        if bytes_needed(facts) > room:
            yield f"{bytes_needed(facts):.3g} bytes, of which a device has {room:.3g}"

    return check


def counts_as_the_formula(facts):
    """The compiler sees the operations of our count, which is the published formula's within 1 %.

    It counts what is inside a loop once, and operations beside those of products.
    """
    settings = build.parse(gpt2_config())
    with compiling_for(Target("tpu", 1)):
        products = products_of_update(shapes_of(build.spec_of(settings)))
    ratio = facts["operations"] / products.once
    if not 0.95 <= ratio <= 1.05:
        yield f"{facts['operations']:.4g} operations, {ratio:.3f} of the {products.once:.4g}"


ALWAYS = (leaves_the_host_alone, reuses_the_state)  # of a program of updates


def in_float32(num_layers):
    """Checks of a language model's scores, logits and exponentials, 4 × 1024 tokens at once."""
    scores, logits = forms_scores_in_float32(num_layers, 1024), forms_logits_in_float32(4096)
    return exponentiates_in_float32, scores, logits
