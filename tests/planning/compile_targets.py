"""Compile updates of trainings for machines that are not here, and check the compiled programs.

    python -m tests.planning.compile_targets [WORD ...]

Compiles each case whose name has all of the words, by default every case, and checks its memory and
its messages between devices. compiled_programs.csv keeps these numbers and the verdict. Installs
the compilers into the user's cache folder if need be.
"""

import csv
import itertools
import json
import pathlib
import sys
from collections.abc import Callable
from typing import NamedTuple

from configs import common
from configs.el.copy import get_config
from el_jax.planning.compilers import CompilerError, compile_elsewhere
from el_jax.planning.machines import machine_of
from el_jax.training.memory import USABLE
from tests.planning.random_tokens import gpt2_config, language_config, pythia_config

TABLE = pathlib.Path(__file__).parent / "compiled_programs.csv"
COLUMNS = "case", "verdict", "needed_mb", "state_mb", "temporaries_mb", "messages", "sent_mb", "ms"


class Case(NamedTuple):
    """A training, a machine and what must be true of the compiled updates besides ``ALWAYS``."""

    config: Callable[[], object]
    machine: str
    checks: tuple[Callable, ...]


# ---- checks: from what compile_updates returns, and the machine, to what is wrong --------------


def gives_up_its_state(facts, _):
    if facts["parts"]["results"] >= facts["state"]:
        yield f"results of {facts['parts']['results']} bytes beside the state"


def fits(facts, machine):
    needed, room = sum(facts["parts"].values()), USABLE * machine.chip.memory
    if needed > room:
        yield f"{needed:.3g} bytes, of which a device has {room:.3g}"


def sends_nothing(facts, _):
    if facts["messages"]:
        yield f"messages {facts['messages']}, not none"


def sums_gradients(most):
    """Gradients and loss are summed over devices in at most ``most`` messages an update."""

    def check(facts, _):
        looped = [message for message in facts["messages"] if message[2] >= 1]
        if {kind for kind, *_ in looped} != {"all-reduce"}:
            yield f"messages {looped} an update, not all-reduces alone"
        if sum(times for *_, times in looped) > most:
            yield f"messages {looped} an update, more than {most}"
        gradients = facts["state"] / 3  # AdamW keeps two numbers beside each parameter
        sent = sum(size * times for _, size, times in looped)
        if not 0.9 * gradients <= sent <= 1.1 * gradients:
            yield f"{sent} bytes an update are sent, not the {gradients:.0f} of the gradients"

    return check


def keeps_its_part(facts, _):
    """A device takes its part of the state and gathers the rest."""
    arguments = facts["parts"]["arguments"]
    if arguments > 1.1 * facts["state"] + 2**20:
        yield f"arguments of {arguments} bytes, of a part of {facts['state']:.0f}"
    if not {"all-gather", "all-reduce"} & {kind for kind, *_ in facts["messages"]}:
        yield f"messages {facts['messages']}: nothing is gathered"


def keeps_no_logits(facts, _):
    """All temporaries together are smaller than the logits of 4 × 1024 tokens in 16 bits."""
    if (kept := facts["parts"]["temporaries"]) >= 2 * 4096 * 50_257:
        yield f"{kept} bytes of temporaries, as many as the logits"


ALWAYS = gives_up_its_state, fits


def faults(case, facts):
    """Faults of the compiled updates of a case, one text each; an empty list is good."""
    if "refused by the compiler" in facts["parts"]:
        return [f"refused: {facts['parts']}"]
    machine = machine_of(case.machine)
    return [fault for check in (*ALWAYS, *case.checks) for fault in check(facts, machine)]


# ---- cases --------------------------------------------------------------------------------------


def copy(arguments="smoke,loss=e1", seeds=2, parallel="jit", dtype="float32", **train):
    def config():
        made = get_config(arguments)
        made.parallel = parallel
        made.model.dtype = dtype
        made.train.update(seeds=seeds, **train)
        return made

    return config


def language(path, loss):
    """4 × 1024 tokens over 50,257 classes in a model whose head is small beside the logits."""

    def config():
        made = language_config({}, width=64, num_layers=2, num_heads=2, dtype="float32")
        made.loss = common.loss(loss, path=path)
        made.sweep = common.sweep(made)
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
            yield f"{machine}: copy, {loss}", copy(f"smoke,loss={loss}"), sends_nothing
    for machine, num in (("tpu-v5e-4", 4), ("tpu-v5e-256", 256), ("h100-8", 8), ("h100-2x8", 16)):
        yield f"{machine}: copy by runs", copy(seeds=num, shard="runs"), sends_nothing
    for machine in ("tpu-v5e-4", "h100-8"):
        yield f"{machine}: copy by data", copy(seeds=1, shard="data"), sums_gradients(1)
        yield f"{machine}: copy in parts", copy(seeds=1, shard="fsdp"), keeps_its_part
        for shard, seeds, check in (("runs", 8, sends_nothing), ("data", 1, sums_gradients(1))):
            by_pmap = copy(seeds=seeds, shard=shard, parallel="pmap")
            yield f"{machine}: copy by {shard}, pmap", by_pmap, check
    paper = copy("scale=paper", seeds=5, dtype="bfloat16", shard="data")
    yield "tpu-v5e-4: the paper's copy by data", paper, sums_gradients(12)  # it has more arrays
    for machine in ("tpu-v5e-1", "h100-1"):
        for loss, path in itertools.product(("cross_entropy", "e1", "e2"), ("chunked", "gram")):
            yield f"{machine}: {loss}, {path} path", language(path, loss), keeps_no_logits
        yield f"{machine}: GPT-2 124M", gpt2_config, sends_nothing
    yield "tpu-v5e-64: Pythia 1.4B in parts", pythia, keeps_its_part


CASES = {name: Case(config, name.partition(":")[0], (check,)) for name, config, check in _cases()}


def compiled(case, *, install=True):
    """The compiler's report on a case."""
    resolved = json.loads(case.config().to_json_best_effort())
    return compile_elsewhere(resolved, machine_of(case.machine), install=install)


def row_of(case, facts):
    """Memory and messages of one device; on TPUs also the compiler's estimate of ms an update."""
    parts, messages, clock = facts["parts"], facts["messages"], machine_of(case.machine).chip.clock
    kinds = sorted({kind for kind, *_ in messages})
    often = {kind: sum(times for k, _, times in messages if k == kind) for kind in kinds}
    return {
        "needed_mb": round(sum(parts.values()) / 2**20, 1),
        "state_mb": round(facts["state"] / 2**20, 1),
        "temporaries_mb": round(parts.get("temporaries", 0) / 2**20, 1),
        "messages": " ".join(f"{times:.4g}:{kind}" for kind, times in often.items()),
        "sent_mb": round(sum(size * times for _, size, times in messages) / 2**20, 2),
        "ms": round(1e3 * facts["cycles"] / clock, 3) if clock else "",
    }


def keep(name, row):
    """Put a row into the table, among those of other cases."""
    kept = {}
    if TABLE.exists():
        with TABLE.open(newline="") as file:
            kept = {row.pop("case"): row for row in csv.DictReader(file)}
    kept[name] = row
    with TABLE.open("w", newline="") as file:
        table = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        table.writeheader()
        table.writerows({"case": each, **kept[each]} for each in CASES if each in kept)


def main(words):
    """Compile and judge; the exit code is 1 if anything is wrong."""
    chosen = [name for name in CASES if all(word in name for word in words)]
    bad = 0 if chosen else 1
    for name in chosen:
        try:
            facts = compiled(CASES[name])
            wrong, row = faults(CASES[name], facts), row_of(CASES[name], facts)
        except CompilerError as error:
            wrong, row = [str(error)], {}
        keep(name, {"verdict": "wrong" if wrong else "good", **row})
        print(f"{name}: {'; '.join(wrong) or 'good'}", flush=True)
        bad += bool(wrong)
    print(f"{len(chosen)} programs, {bad} wrong" if chosen else f"no case of {list(CASES)}")
    return min(bad, 1)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
