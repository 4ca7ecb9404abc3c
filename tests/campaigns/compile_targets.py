"""Programs of trainings compiled for machines that are not here, and what their compilers made.

    python -m tests.campaigns.compile_targets [WORD ...]

Compiles each case whose name has all of the words, by default every case, and checks the compiled
text: messages between devices, exchanges with the host, donated memory, arithmetic, the largest
array. compiled_programs.csv keeps what each program takes. Installs the compilers into the user's
cache folder if need be.
"""

import argparse
import csv
import json
import pathlib
import sys
from collections.abc import Callable, Iterator
from typing import NamedTuple

from configs.el.copy import get_config
from el_jax import build
from el_jax.planning.compiled_text import bytes_needed
from el_jax.planning.compilers import CompilerError, compile_elsewhere
from el_jax.planning.machines import machine_of
from el_jax.planning.programs import products_of_update, shapes_of
from el_jax.runtime.target import Target, compiling_for
from el_jax.training.devices.memory import USABLE
from tests.campaigns.tally import Tally, keep_others
from tests.planning.random_tokens import gpt2_config, language_config, pythia_config

GOOD = ("as it should be",)
PROGRAMS = pathlib.Path(__file__).parent / "compiled_programs.csv"
Check = Callable[[dict], Iterator[str]]  # from a compiler's facts to what is wrong with them


class Case(NamedTuple):
    """A program, a machine and what must be true of what the compiler makes of them."""

    config: Callable[[], object]
    machine: str
    checks: tuple[Check, ...]
    program: str = "updates"


# ---- checks -----------------------------------------------------------------------------------


def sends_nothing(facts):
    if facts["messages"]:
        yield f"messages {facts['messages']}, not none"


def sums_gradients_once(facts):
    """One sum over devices an update, of the gradients and the loss; nothing else in the loop."""
    looped = [message[:3] for message in facts["messages"] if message[3]]
    if [kind for kind, _, _ in looped] != ["all-reduce"] or looped[0][2] != 1:
        yield f"messages {looped} an update, not one all-reduce"
    gradients = facts["state"] / 3  # AdamW keeps two numbers beside each parameter
    sent = sum(size * times for _, size, times in looped)
    if not 0.9 * gradients <= sent <= 1.1 * gradients:
        yield f"{sent} bytes an update are sent, not the {gradients:.0f} of the gradients"


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
    if facts["aliased"] < 0.99 * facts["state"]:
        yield f"{facts['aliased']} bytes are aliased, of a state of {facts['state']:.0f}"


def multiplies_in(dtype):
    def check(facts):
        types = facts["product_types"]
        if types.get(dtype, 0) < 0.5 * sum(types.values()):
            yield f"products in {types}, not mostly in {dtype}"

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


ALWAYS = (leaves_the_host_alone, reuses_the_state)

# ---- cases ------------------------------------------------------------------------------------


def copy(arguments="smoke", seeds=2, parallel="jit", **train):
    def config():
        made = get_config(arguments)
        made.parallel = parallel
        made.train.update(seeds=seeds, **train)
        return made

    return config


def language(path, dtype, precision="default"):
    """4 × 1024 tokens over 50,257 classes in a model whose head is small beside the logits."""

    def config():
        made = language_config({}, width=64, num_layers=2, num_heads=2, dtype=dtype)
        made.loss.path = path
        made.model.matmul_precision = precision
        return made

    return config


def pythia():
    """64 × 2,048 tokens, each layer gathered and computed again in a loop."""
    made = pythia_config("pythia_1.4b", windows=64)
    made.loss.path = "chunked"
    made.model.update(scan_layers=True, remat_layers=True)
    return made


def _cases():
    for machine in ("tpu-v5e-1", "tpu-v5p-1", "tpu-v6e-1", "h100-1"):
        for loss in ("cross_entropy", "e1", "e2", "e3"):
            name = f"{machine}: copy, {loss}"
            yield name, Case(copy(f"smoke,loss={loss}"), machine, (*ALWAYS, sends_nothing))
    for machine, num in (("tpu-v5e-4", 4), ("tpu-v5e-256", 256), ("h100-8", 8)):
        by_runs = copy("smoke,loss=e1", seeds=num, shard="runs")
        yield f"{machine}: copy by runs", Case(by_runs, machine, (*ALWAYS, sends_nothing))
    for machine in ("tpu-v5e-4", "h100-8"):
        by_data = copy("smoke,loss=e1", seeds=1, shard="data")
        yield f"{machine}: copy by data", Case(by_data, machine, (*ALWAYS, sums_gradients_once))
        for shard, seeds, check in (("runs", 8, sends_nothing), ("data", 1, sums_gradients_once)):
            by_pmap = copy("smoke,loss=e1", seeds=seeds, shard=shard, parallel="pmap")
            yield f"{machine}: copy by {shard}, pmap", Case(by_pmap, machine, (*ALWAYS, check))
        in_parts = copy("smoke,loss=e1", seeds=1, shard="fsdp")
        yield f"{machine}: copy in parts", Case(in_parts, machine, (*ALWAYS, keeps_its_part))
    for machine in ("tpu-v5e-1", "h100-1"):
        for path in ("chunked", "gram", "remat"):
            checks = *ALWAYS, keeps_no_logits(4096, 50_257)
            yield f"{machine}: {path} path", Case(language(path, "float32"), machine, checks)
        for dtype, short in (("bfloat16", "bf16"), ("float32", "f32")):
            checks = *ALWAYS, multiplies_in(short)
            # a TPU multiplies float32 in bfloat16 unless it is asked not to
            asked = language("chunked", dtype, "highest" if dtype == "float32" else "default")
            yield f"{machine}: {dtype}", Case(asked, machine, checks)
        for program in ("evaluation", "initialisation", "hvp", "quadratic_form"):
            checks = leaves_the_host_alone, sends_nothing
            yield f"{machine}: {program}", Case(copy(), machine, checks, program)
        checks = *ALWAYS, fits(machine), multiplies_in("bf16")
        if machine == "tpu-v5e-1":  # the compiler for GPUs does not count
            checks = *checks, counts_as_the_formula
        yield f"{machine}: GPT-2 124M", Case(gpt2_config, machine, checks)
    machine = "tpu-v5e-64"
    checks = *ALWAYS, fits(machine), multiplies_in("bf16"), keeps_its_part
    yield f"{machine}: Pythia 1.4B in parts", Case(pythia, machine, checks)


CASES = dict(_cases())


def compiled(case, *, install=True):
    """The compiler's facts of a case."""
    resolved = json.loads(case.config().to_json_best_effort())
    return compile_elsewhere(
        resolved, machine_of(case.machine), programs=(case.program,), install=install
    )[case.program]


def faults(case, facts):
    """Faults in the compiled text of a case, one text each; an empty list is good."""
    if "needed" in facts:
        return [f"refused: it needs {facts['needed']} bytes"]
    return [fault for check in case.checks for fault in check(facts)]


def row_of(case, facts):
    """Memory and messages of one device; on TPUs also ms, by the compiler's estimate."""
    if "needed" in facts:
        return {"needed_mb": round(facts["needed"] / 2**20)}
    clock = machine_of(case.machine).chip.clock
    sent = sum(size * times for _, size, times, _ in facts["messages"])
    return {
        "needed_mb": round(bytes_needed(facts) / 2**20, 1),
        "state_mb": round(facts["state"] / 2**20, 1),
        "temporaries_mb": round(facts["temporaries"] / 2**20, 1),
        "messages": " ".join(
            f"{sum(times for kind, _, times, _ in facts['messages'] if kind == name):.4g}:{name}"
            for name in sorted({kind for kind, *_ in facts["messages"]})
        ),
        "sent_mb": round(sent / 2**20, 2),
        "ms": round(1e3 * facts["cycles"] / clock, 3) if clock and facts["cycles"] else "",
    }


def keep(rows):
    """Put rows by case into compiled_programs.csv, among those of other cases."""
    kept = {}
    if PROGRAMS.exists():
        with PROGRAMS.open(newline="") as file:
            kept = {row.pop("case"): row for row in csv.DictReader(file)}
    kept |= rows
    columns = ("case", "needed_mb", "state_mb", "temporaries_mb", "messages", "sent_mb", "ms")
    with PROGRAMS.open("w", newline="") as file:
        table = csv.DictWriter(file, columns, lineterminator="\n")
        table.writeheader()
        table.writerows({"case": name, **kept[name]} for name in CASES if name in kept)


def run(names, progress=0):
    """Compile and judge the cases of these names."""
    tally = Tally("compile_targets", GOOD, progress)
    for name in names:
        try:
            facts = compiled(CASES[name])
            wrong = faults(CASES[name], facts)
            keep({name: row_of(CASES[name], facts)})
        except CompilerError as error:
            wrong = [str(error)]
        print(f"{name}: {'; '.join(wrong) or GOOD[0]}", flush=True)
        tally.add(name, "wrong" if wrong else GOOD[0], "; ".join(wrong))
    return tally


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("words", nargs="*", metavar="WORD")
    words = parser.parse_args().words
    chosen = [name for name in CASES if all(word in name for word in words)]
    if not chosen:
        sys.exit(f"no case has all of {words}; there are: {', '.join(CASES)}")
    found = run(chosen, progress=1)
    keep_others(chosen.__contains__, found)
    found.finish()
