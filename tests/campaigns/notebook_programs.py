"""Programs of the notebooks compiled for the machines that Colab lends.

    python -m tests.campaigns.notebook_programs [NAME ...]

Runs each notebook on this CPU with the sizes that it has, keeps every program that jax compiles on
the way, and compiles each for a TPU and for GPUs that are not here. Installs the compilers into the
user's cache folder if need be.
"""

import argparse
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import time
from typing import NamedTuple

import jax
import jax.extend.core
from jax._src import pjit

from colab.build import sources
from el_jax.planning.compile_worker import memory_facts, target_of
from el_jax.planning.compiled_text import bytes_needed
from el_jax.planning.compilers import environment, variables_for
from el_jax.planning.machines import machine_of
from el_jax.training.devices.memory import USABLE
from tests.campaigns.tally import Tally, keep_others

MACHINES = "tpu-v5e-1", "tpu-v6e-1", "t4-1", "a100-40-1"
COMPILED, ON_HOST = "compiled and fits", "float64, which a TPU leaves to the CPU"
GOOD = COMPILED, ON_HOST
ROOT = pathlib.Path(__file__).parents[2]


class Program(NamedTuple):
    """A program that jax was asked to compile.

    Attributes:
        name: of the function.
        jaxpr: its closed jaxpr.
        donated: True for arguments that are given away.
        x64: True if float64 was enabled.
    """

    name: str
    jaxpr: jax.extend.core.ClosedJaxpr
    donated: tuple[bool, ...]
    x64: bool


def run_and_record(source, form):
    """Run a notebook's source with its form filled in; returns its distinct programs."""
    found, lower = {}, pjit._resolve_and_lower

    def record(args, jaxpr, *, donated_invars, name, **others):
        x64 = jax.config.jax_enable_x64
        kept = Program(name, jaxpr, donated_invars, x64)
        found.setdefault((str(jaxpr), x64), kept)
        return lower(args, jaxpr=jaxpr, donated_invars=donated_invars, name=name, **others)

    text = source.read_text()
    for field, value in form.items():
        text = re.sub(rf"^{field} = .*?(?=  # @param)", f"{field} = {value}", text, flags=re.M)
    pjit._resolve_and_lower = record
    try:
        exec(compile(text, str(source), "exec"), {"__name__": "__main__"})
    finally:
        pjit._resolve_and_lower = lower
    return list(found.values())


def compile_for(program, device):
    """Compile a program for a device; returns the bytes that it needs there."""
    placed = jax.sharding.SingleDeviceSharding(device)
    shapes = [
        jax.ShapeDtypeStruct(v.aval.shape, v.aval.dtype, sharding=placed)
        for v in program.jaxpr.jaxpr.invars
    ]
    given = [place for place, is_given in enumerate(program.donated) if is_given]
    with jax.enable_x64(program.x64):
        function = jax.extend.core.jaxpr_as_fun(program.jaxpr)
        asked = jax.jit(function, donate_argnums=given, out_shardings=placed).lower(*shapes)
        return bytes_needed(memory_facts(asked.compile()))


def outcome_of(program, machine, device):
    """The outcome for a program, and what is wrong with it, if anything."""
    if program.x64 and machine.chip.platform == "tpu":  # see el_jax/runtime/double_precision.py
        return ON_HOST, ""
    try:
        needed = compile_for(program, device)
    except Exception as error:  # a compiler's refusals have no class of their own
        return "refused", f"{program.name}: {error}"
    if needed > USABLE * machine.chip.memory:
        return "too large", f"{program.name}: {needed:.3g} bytes"
    return COMPILED, ""


def work(name, form, machines, answer):
    """Run one notebook and compile its programs, in the compilers' environment."""
    (source,) = (source for source in sources() if source.stem == name)
    programs = run_and_record(source, form)
    found = {}
    for machine in map(machine_of, machines):
        (device,) = target_of(machine).devices
        found[machine.name] = [outcome_of(program, machine, device) for program in programs]
    answer.write_text(json.dumps(found))


def outcomes_of(name, *, form=None, machines=MACHINES):
    """Outcomes and their details of a notebook's programs by machine, from a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        answer = pathlib.Path(folder) / "answer.json"
        asked = json.dumps({"name": name, "form": form or {}, "machines": machines})
        done = subprocess.run(
            [environment().python(), "-m", __spec__.name, "--work", asked, str(answer)],
            env={**variables_for("gpu"), "MPLBACKEND": "Agg"},
            cwd=ROOT, capture_output=True, text=True, check=False,
        )  # fmt: skip
        if not answer.exists():
            raise RuntimeError(f"{name}: {done.stderr[-2000:]}")
        return json.loads(answer.read_text())


def run(names, *, forms=None, machines=MACHINES, progress=0):
    """Compile and judge the programs of these notebooks."""
    tally = Tally("notebook_programs", GOOD, progress)
    for name in names:
        begun = time.monotonic()
        found = outcomes_of(name, form=(forms or {}).get(name), machines=machines)
        for machine, outcomes in found.items():
            for outcome, detail in outcomes:
                tally.add(f"{name} on {machine}", outcome, detail)
        if progress:
            print(f"{name}: {time.monotonic() - begun:.0f} s", flush=True)
    return tally


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--work", nargs=2, metavar=("ASKED", "ANSWER"), help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.work:
        work(**json.loads(given.work[0]), answer=pathlib.Path(given.work[1]))
        sys.exit()
    known = [source.stem for source in sources()]
    chosen = given.names or known
    if not set(chosen) <= set(known):
        sys.exit(f"notebooks must be some of {', '.join(known)}")
    result = run(chosen, progress=10_000)
    keep_others(lambda kind: kind.partition(" ")[0] in chosen, result)
    result.finish()
