"""Programs of trainings compiled for machines that are not here, and what their compilers made.

    python -m tests.planning.compile_targets [WORD ...]

Compiles each case whose name has all of the words, by default every case, and checks the compiled
text: messages between devices, exchanges with the host, donated memory, arithmetic, the largest
array. compiled_programs.csv keeps what each program takes. Installs the compilers into the user's
cache folder if need be.
"""

import argparse
import csv
import itertools
import json
import pathlib
import sys
from collections.abc import Callable
from typing import NamedTuple

from configs import common
from configs.el.copy import get_config
from el_jax.planning.compiled_text import bytes_needed
from el_jax.planning.compilers import CompilerError, compile_elsewhere
from el_jax.planning.machines import machine_of
from tests.planning.compiled_checks import (
    ALWAYS,
    Check,
    counts_as_the_formula,
    exponentiates_in_float32,
    fits,
    in_float32,
    keeps_its_part,
    keeps_no_logits,
    leaves_the_host_alone,
    multiplies_in,
    sends_moments_alone,
    sends_nothing,
    sums_between_slices,
    sums_gradients_in_groups,
    sums_gradients_once,
)
from tests.planning.random_tokens import gpt2_config, language_config, pythia_config
from tests.planning.tally import Tally, keep_others

GOOD = ("as it should be",)
PROGRAMS = pathlib.Path(__file__).parent / "compiled_programs.csv"


class Case(NamedTuple):
    """A program, a machine and what must be true of what the compiler makes of them."""

    config: Callable[[], object]
    machine: str
    checks: tuple[Check, ...]
    program: str = "updates"


# ---- cases ------------------------------------------------------------------------------------


def copy(arguments="smoke", seeds=2, parallel="jit", dtype="float32", **train):
    def config():
        made = get_config(arguments)
        made.parallel = parallel
        made.model.dtype = dtype
        made.train.update(seeds=seeds, **train)
        return made

    return config


def language(path, dtype, precision="default", loss="cross_entropy"):
    """4 × 1024 tokens over 50,257 classes in a model whose head is small beside the logits."""

    def config():
        made = language_config({}, width=64, num_layers=2, num_heads=2, dtype=dtype)
        made.loss = common.loss(loss, path=path)
        made.sweep = common.sweep(made)
        made.model.matmul_precision = precision
        return made

    return config


def by_data_32():
    """32 × 128 tokens over 50,257 classes, a window on each of 32 devices."""
    task = {"windows": 32, "window_length": 128}
    made = language_config(task, width=64, num_layers=2, num_heads=2, dtype="bfloat16")
    made.train.shard = "data"
    return made


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
    for shard, seeds, check in (("runs", 4, sends_nothing), ("data", 1, sends_moments_alone)):
        case = copy(seeds=seeds, shard=shard), "tpu-v5e-4", (leaves_the_host_alone, check)
        yield f"tpu-v5e-4: evaluation by {shard}", Case(*case, "evaluation")
    paper = copy("scale=paper", seeds=5, dtype="bfloat16", shard="data")
    checks = *ALWAYS, sums_gradients_in_groups(paper), multiplies_in("bf16")
    yield "tpu-v5e-4: the paper's copy by data", Case(paper, "tpu-v5e-4", checks)
    machine = "tpu-v5e-2x16"
    by_runs = copy("smoke,loss=e1", seeds=32, shard="runs")
    yield f"{machine}: copy by runs", Case(by_runs, machine, (*ALWAYS, sends_nothing))
    yield f"{machine}: language by data", Case(by_data_32, machine, (*ALWAYS, sums_between_slices))
    for machine in ("tpu-v5e-1", "h100-1"):
        checks = *ALWAYS, keeps_no_logits(4096, 50_257)
        for path in ("chunked", "gram"):
            yield f"{machine}: {path} path", Case(language(path, "float32"), machine, checks)
        for loss, path in itertools.product(("e1", "e2"), ("chunked", "gram")):
            by_path = language(path, "float32", loss=loss)
            yield f"{machine}: {loss}, {path} path", Case(by_path, machine, checks)
        for dtype, short in (("bfloat16", "bf16"), ("float32", "f32")):
            checks = *ALWAYS, multiplies_in(short), *in_float32(num_layers=2)
            # a TPU multiplies float32 in bfloat16 unless it is asked not to
            asked = language("chunked", dtype, "highest" if dtype == "float32" else "default")
            yield f"{machine}: {dtype}", Case(asked, machine, checks)
        for program in ("evaluation", "initialisation", "hvp", "quadratic_form", "traces"):
            checks = leaves_the_host_alone, sends_nothing
            yield f"{machine}: {program}", Case(copy(), machine, checks, program)
        checks = *ALWAYS, fits(machine), multiplies_in("bf16"), *in_float32(num_layers=12)
        if machine == "tpu-v5e-1":  # the compiler for GPUs does not count
            checks = *checks, counts_as_the_formula
        yield f"{machine}: GPT-2 124M", Case(gpt2_config, machine, checks)
    machine = "tpu-v5e-64"
    checks = *ALWAYS, fits(machine), multiplies_in("bf16"), keeps_its_part, exponentiates_in_float32
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
