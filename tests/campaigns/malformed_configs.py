"""Call the training with bad configs, and check that each call is refused in one clear line.

    python -m tests.campaigns.malformed_configs [--count=1500] [--processes=20]

Every call goes through the command line: unknown keys, wrong types, values out of range, unknown
names, pairs that do not go together, missing and broken files, NaN, unicode, nothing; and config
files that put values of any type in place of sections and keys. Good: exit code 2; one line of at
most 1,000 characters, no traceback; it names the field, the value and what is allowed; nothing was
compiled; under 3 s of a core's time. A value of the right type may be accepted. Most calls are
forks of a process that has imported everything and nothing more; some are processes of their own.
"""

import argparse
import dataclasses
import json
import os
import pathlib
import random
import resource
import subprocess
import sys
import tempfile

from ml_collections import ConfigDict

from tests.campaigns.tally import Tally

ROOT = pathlib.Path(__file__).parents[2]
CONFIG = "configs/el/copy.py"
REFUSED, ACCEPTED = "refused", "accepted, as it may be"
MAX_SECONDS = 1.5  # on the CPU, beyond the imports


@dataclasses.dataclass(frozen=True)
class Call:
    """A call that must be refused, and words that its message must contain."""

    kind: str
    arguments: tuple[str, ...]
    words: tuple[str, ...] = ()
    may_pass: bool = False


def override(kind, key, value):
    shown = " ".join(repr(value)[1:17].rstrip("'\"").split())  # of long values the beginning
    arguments = (f"--config={CONFIG}:loss=e1,smoke", f"--config.{key}={value}")
    return Call(kind, (*arguments, "--workdir={workdir}"), (f"config.{key}", shown))


def unknown(key):
    call = override("unknown key", key, "1")
    return dataclasses.replace(call, words=("unknown key", key.split(".")[0]))


def _keys():
    from configs.el.copy import get_config

    def within(node, path):
        for name in node:
            if isinstance(node[name], ConfigDict):
                yield from within(node[name], f"{path}{name}.")
            else:
                yield f"{path}{name}", node.get_type(name)

    return dict(within(get_config("loss=e1,smoke"), ""))


INTEGERS = {
    **dict.fromkeys(("seed", "task.data_seed", "optim.warmup_steps"), 0),
    **dict.fromkeys(("train.max_runs_at_once", "train.replay_every"), 0),
    **dict.fromkeys(("task.copy_length", "task.num_train", "task.strings_per_update"), 1),
    **dict.fromkeys(("task.strings_per_window", "task.padding_length"), 1),
    **dict.fromkeys(("model.width", "model.num_layers", "model.num_heads"), 1),
    **dict.fromkeys(("model.num_kv_heads", "model.head_size", "model.mlp_width"), 1),
    **dict.fromkeys(("train.num_updates", "train.seeds", "train.log_every"), 1),
    **dict.fromkeys(("train.eval_every", "train.checkpoint_every", "eval.test"), 1),
    **dict.fromkeys(("eval.test_precise", "train.eval_tokens"), 1),
}  # the smallest value each may have
EMPTY = ("train.init_from",)  # an empty value is one of those they may have
OPEN_FROM_0 = ("optim.peak_lr", "loss.logit_temperature", "optim.epsilon", "model.norm_epsilon")
FROM_0 = ("loss.lam", "optim.weight_decay", "optim.clip_norm")
FRACTIONS = ("task.easy_fraction", "model.residual_dropout", "model.attention_dropout", "optim.b1")
FRACTIONS += (
    "optim.b2",
    "model.rotary_fraction",
    "model.embedding_dropout",
    "optim.decay_fraction",
)
FLOATS = (*OPEN_FROM_0, *FROM_0, *FRACTIONS)
NAMES = ("task.name", "task.grouping", "loss.name", "model.preset", "model.norm", "optim.name")
NAMES += ("optim.schedule", "train.run_axis", "model.activation", "model.dtype", "model.position")
NAMES += ("model.attention_impl", "model.norm_placement", "model.init", "model.matmul_precision")
UNICODE = (
    "λ",
    "ζωή",
    "日本語",
    "🙂" * 30,
    "e1\u202e",
    "\u200b",
    "ｅ１",
    "na\u0301n",
    "\x07",
    "a\nb",
    "é" * 400,
)
PAIRS = (
    ({"model.num_heads": "3"}, "model.num_heads"),
    ({"model.num_kv_heads": "3"}, "num_kv_heads"),
    ({"model.width": "15"}, "width"),
    ({"task.strings_per_window": "3"}, "strings_per_window"),
    ({"task.strings_per_window": "8", "eval.test": "9"}, "eval.test"),
    ({"task.num_train": "401"}, "task.num_train"),
    ({"optim.warmup_steps": "41"}, "optim.warmup_steps"),
    ({"train.log_every": "7"}, "log_every=7"),
    ({"train.eval_every": "15"}, "train.eval_every"),
    ({"train.checkpoint_every": "5"}, "train.checkpoint_every"),
    ({"train.num_updates": "45"}, "train.num_updates"),
    ({"sweep.loss.b": "(1.0,)"}, "sweep.loss.b"),
    ({"sweep.optim.warmup_steps": "(0, 400)"}, "warmup_steps"),
    ({"model.position": "learned", "model.max_length": "4"}, "model.max_length"),
)
SWEEPS = ("(nan,)", "(-1.0,)", "('a',)", "(1.0, inf)", "(1,", "[[1.0]]", "(None,)", "-3")
BROKEN_FILES = {
    "syntax.py": "def get_config(:\n",
    "raises.py": "raise RuntimeError('no luck')\n",
    "raises_later.py": "def get_config(arg=None):\n    return 1 / 0\n",
    "none.py": "def get_config(arg=None):\n    return None\n",
    "dict.py": "def get_config(arg=None):\n    return {'seed': 0}\n",
    "without.py": "x = 1\n",
    "empty.py": "",
    "imports.py": "import no_such_module_anywhere\n",
    "binary.py": "\x00\x01\x02",
    "some_text.txt": "seed: 0\n",
    "exits.py": "import sys\n\nsys.exit(0)\n",
    "exits_later.py": "import sys\n\n\ndef get_config(arg=None):\n    sys.exit(0)\n",
    "empty_config.py": "from ml_collections import ConfigDict\n\n\ndef get_config(a=None):\n"
    "    return ConfigDict()\n",
}


def broken_files(folder):
    """Write files into ``folder`` that are no valid config files."""
    for name, text in BROKEN_FILES.items():
        (folder / name).write_text(text)
    (folder / "folder.py").mkdir()
    (folder / "unreadable.py").write_bytes(b"\xff\xfe\xff")
    return [*BROKEN_FILES, "folder.py", "unreadable.py"]


def systematic(folder):
    """Every kind of mistake, once for each key it can be made with."""
    keys = _keys()
    for key, kind in keys.items():
        yield unknown(f"{key}_")
        if key not in EMPTY:
            yield override("empty value", key, "")
        if kind in (int, float):
            yield override("wrong type", key, "fast")
        if kind is int:
            yield override("wrong type", key, "1.5")
        if kind is bool:
            yield override("wrong type", key, "maybe")
    for section in sorted({key.split(".")[0] for key in keys} - {"seed", "parallel"}):
        yield override("wrong type", section, "3")
    for key, least in INTEGERS.items():
        for value in (least - 1, -7, 10**30):
            yield override("out of range", key, str(value))
    for key in FLOATS:
        for value in ("-1.0", "-inf"):
            yield override("out of range", key, value)
        yield override("NaN", key, "nan")
        yield dataclasses.replace(override("NaN", key, "1e400"), words=(f"config.{key}=inf",))
    for key in (*OPEN_FROM_0, *FROM_0, "model.embedding_dropout"):
        yield override("not a float32", key, "1e-50")
    for key in (*OPEN_FROM_0, *FROM_0):
        yield override("not a float32", key, "1e+40")
    yield override("not a float32", "optim.b2", "0.99999999999")
    for key in (*OPEN_FROM_0, "model.rotary_fraction"):
        yield override("out of range", key, "0.0")
    for key in FRACTIONS:
        yield override("out of range", key, "1.5")
    for key in NAMES:
        yield override("unknown name", key, "nonsense")
    for value in SWEEPS:
        for key in ("loss.lam", "optim.peak_lr"):
            call = override("sweep", f"sweep.{key}", value)
            yield dataclasses.replace(call, words=(f"config.sweep.{key}=",))
    for changes, word in PAIRS:
        given = tuple(f"--config.{key}={value}" for key, value in changes.items())
        call = (f"--config={CONFIG}:loss=e1,smoke", *given, "--workdir={workdir}")
        yield Call("incompatible", call, (word,))
    yield from _command_lines(folder)


def _command_lines(folder):
    good, workdir = f"--config={CONFIG}:smoke", "--workdir={workdir}"
    for name in [*broken_files(folder), "missing.py", "x" * 300 + ".py", "not\nthere.py", ""]:
        if name == "empty_config.py":  # read without fault; what is wrong is what it lacks
            yield Call("broken file", (f"--config={folder / name}", workdir), ("missing",))
            continue
        yield Call(
            "broken file", (f"--config={folder / name}", workdir), (name[:20].split("\n")[0],)
        )
    for arg, *words in (
        ("loss=e9", "e9", "cross_entropy"),
        ("loss", "true"),
        ("colour=1", "colour", "loss"),
        ("smoke=maybe", "smoke", "maybe"),
        ("scale=huge", "huge", "paper"),
        ("strings_per_window=two", "two"),
        ("loss=λ", "λ"),
        ("=", "''"),
    ):
        yield Call("argument", (f"--config={CONFIG}:{arg}", workdir), tuple(words))
    for arguments, word in (
        ((), "--config"),
        ((good,), "--workdir"),
        ((workdir,), "--config"),
        ((good, "--workdir="), "--workdir"),
        (("--config=", workdir), "--config"),
        ((good, workdir, "more"), "more"),
        ((good, workdir, "--speed=3"), "speed"),
        ((good, workdir, "--config.train"), "config.train"),
        ((good, workdir, "--config."), "config"),
        ((good, workdir, "--config.=1"), "config"),
        ((good, workdir, "--config..=1"), "config"),
        ((good, workdir, "--=1"), "="),
        ((good, good, workdir), "--config: given twice"),
        ((good, "--flagfile=/proc/none", workdir), "flagfile"),
        ((good, "--flagfile", workdir), "flagfile"),
        ((good, f"--flagfile={folder / 'binary.py'}", workdir), ""),
        ((good, "--workdir=/proc/none/here"), "/proc/none/here"),
        ((good, "--workdir=/dev/null"), "/dev/null"),
        ((good, f"--workdir={'w' * 300}"), "www"),
    ):
        yield Call("command line", arguments, (word,))


def drawn(rng):
    """One mistake drawn at random."""
    keys = _keys()
    key = rng.choice(sorted(keys))
    kind = rng.choice(["unknown key", "unicode", "unknown name", "out of range", "wrong type"])
    if kind == "unknown key":
        place = rng.randrange(len(key) + 1)
        wrong = key[:place] + rng.choice("abcxyz_0") + key[place:]
        call = unknown(wrong)
        parts = wrong.split(".")
        prefixes = [".".join(parts[: depth + 1]) for depth in range(len(parts))]
        known = {".".join(key.split(".")[:depth]) for key in keys for depth in range(1, 4)}
        first = next((prefix for prefix in prefixes if prefix not in known), wrong)
        words = (f"config.{first}:" if "." in first else first, "unknown key")
        return dataclasses.replace(call, words=words) if wrong not in keys else drawn(rng)
    if kind == "unicode":
        key = rng.choice([*NAMES, *INTEGERS, *FLOATS])
        call = override(kind, key, rng.choice(UNICODE))
        return dataclasses.replace(call, words=call.words[:1])
    if kind == "unknown name":
        name = "".join(rng.choices("abcdefghij_-. 12ADAM", k=rng.randrange(3, 300)))
        return override(kind, rng.choice(NAMES), name.strip() + "?")
    if kind == "out of range":
        value = -(10 ** rng.uniform(-3, 30))
        return override(kind, rng.choice(FLOATS), repr(value))
    text = "".join(rng.choices("abc(){}[]',:;\\\"$%&", k=rng.randrange(2, 12))) + "q"
    return dataclasses.replace(
        call := override(kind, rng.choice([*INTEGERS, *FLOATS]), text), words=call.words[:1]
    )


# what a config file may put anywhere, as Python: with whatever types, sizes and nestings
STRANGE = (
    *(
        "7",
        "-1",
        "0",
        "True",
        "None",
        "1.5",
        "1e-50",
        "1e39",
        "-0.0",
        "float('nan')",
        "float('inf')",
    ),
    *(
        "10**400",
        "-(10**400)",
        "2**31",
        "2**63",
        "10**5000",
        "1 + 2j",
        "''",
        "'name'",
        "'x' * 5000",
    ),
    *("'\\ud800'", "b'bytes'", "[]", "()", "{}", "[1]", "(0.5,)", "[[1, 2], [3]]", "('a', 1)"),
    *("{'name': 'copy'}", "{'a': {'b': {}}}", "{1: 2}", "{'': 0}", "[None]", "[{}]", "{1, 2}"),
    *(
        "range(3)",
        "lambda: 1",
        "object()",
        "int",
        "numpy.float64(1)",
        "numpy.int32(3)",
        "iter('a')",
    ),
    *("numpy.ones(3)", "numpy.zeros((0,))", "numpy.str_('copy')", "numpy.bool_(True)"),
    *("ConfigDict()", "ConfigDict({'lam': ConfigDict()})", "FieldReference(7)", "[ConfigDict()]"),
)
STRANGE_FILE = """import numpy
from ml_collections import ConfigDict, FieldReference

from configs.el.copy import get_config as usual


def get_config(arg=None):
    config = usual("loss=e1,smoke")
    with config.unlocked(), config.ignore_type():
        {change}
    return config
"""


def strange(folder, number, rng):
    """A config file with a section or a key that is something else, or deleted."""
    keys = list(_keys())
    sections = sorted({key.split(".")[0] for key in keys})
    place = rng.choice([rng.choice(sections), rng.choice(keys)])
    value = rng.choice(STRANGE)
    deleted = rng.random() < 0.1
    *parents, key = place.split(".")
    node = ".".join(["config", *parents])
    change = f"del {node}[{key!r}]" if deleted else f"{node}[{key!r}] = {value}"
    path = folder / f"strange{number}.py"
    path.write_text(STRANGE_FILE.format(change=change))
    arguments = (f"--config={path}", "--workdir={workdir}")
    kind = "deleted" if deleted else "strange value"
    # an absent number is not swept, an absent split is not measured
    may_pass = not deleted or place.startswith(("sweep.", "eval."))
    return Call(kind, arguments, ("config",), may_pass=may_pass)


def calls(folder, count, seed=0):
    """``count`` calls: the systematic ones, or an even part of them, then drawn ones."""
    rng = random.Random(seed)
    fixed = list(systematic(folder))
    if len(fixed) > count:
        return rng.sample(fixed, count)
    more = count - len(fixed)
    return (
        fixed
        + [drawn(rng) for _ in range(more // 3)]
        + [strange(folder, number, rng) for number in range(more - more // 3)]
    )


# runs in the process that forks: reads arguments, one list a line, answers one object a line
_SERVER = """
import json, os, resource, sys, tempfile
import jax
from el_jax import build, train
from el_jax.runtime import launch

def refuse_to_compile(event, *_, **__):
    if event.endswith("backend_compile_duration"):
        os.write(2, b"COMPILED\\n")

def accepted(settings):
    os.write(2, b"ACCEPTED\\n")
    os._exit(0)

jax.monitoring.register_event_duration_secs_listener(refuse_to_compile)
build.build = accepted
launch.arithmetic.check = lambda: None  # which compiles a little, whatever the config
for line in sys.stdin:
    with tempfile.TemporaryFile() as errors:
        child = os.fork()
        if not child:
            resource.setrlimit(resource.RLIMIT_AS, (8 << 30, 8 << 30))
            resource.setrlimit(resource.RLIMIT_CPU, (20, 20))
            os.dup2(errors.fileno(), 2)
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
            code = 1
            try:
                sys.argv = ["train", *json.loads(line)]
                launch.run(train.train, sys.argv)
                code = 0
            except SystemExit as leaving:
                code = leaving.code
            except BaseException as error:
                os.write(2, f"Traceback: {error!r}".encode(errors="backslashreplace"))
            sys.stderr.flush()
            os._exit(code)
        _, status, used = os.wait4(child, 0)
        errors.seek(0)
        text = errors.read().decode(errors="replace")
    seconds = used.ru_utime + used.ru_stime
    print(json.dumps([os.waitstatus_to_exitcode(status), text, seconds]), flush=True)
"""


class Forks:
    """Answers calls by forking a process that has imported everything."""

    def __init__(self):
        self._server = subprocess.Popen(
            [sys.executable, "-W", "ignore", "-c", _SERVER],
            cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip

    def __enter__(self):
        return self

    def __call__(self, arguments):
        self._server.stdin.write(json.dumps(arguments) + "\n")
        self._server.stdin.flush()
        return json.loads(self._server.stdout.readline())

    def __exit__(self, *_):
        self._server.stdin.close()
        self._server.wait()
        self._server.stdout.close()


def process(arguments):
    """Answer a call by a process of its own; its seconds are those beyond its imports."""
    done, seconds = timed("-m", "el_jax.train", *arguments)
    _, imports = timed("-c", "import el_jax.train")  # beside it, on a machine as busy
    return done.returncode, done.stderr.decode(errors="replace"), seconds - imports


def timed(*arguments):
    """A process of Python that has ended, and its seconds on the CPU."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, *arguments]
    done = subprocess.run(command, cwd=ROOT, env=os.environ, capture_output=True, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return done, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def judge(call, code, text, seconds):
    """Verdict on one answer: good, or the property that it lacks."""
    lines = text.splitlines()
    if "ACCEPTED" in text:
        return ACCEPTED if call.may_pass else "accepted"
    if "COMPILED" in text:
        return "compiled"
    if "Traceback" in text:
        return "traceback"
    if code != 2:
        return f"exit code {code}"
    if len(lines) != 1 or not lines[0].startswith("error: "):
        return f"{len(lines)} lines"
    if len(lines[0]) > 1_000:
        return "too long"
    unnamed = [word for word in call.words if word not in lines[0]]
    if unnamed:
        return f"does not name {unnamed}"
    return REFUSED if seconds < MAX_SECONDS else "slow"


def run(folder, count, num_processes, seed=0, progress=0):
    """Run the campaign; ``folder`` is empty and takes the broken config files."""
    tally = Tally("malformed_configs", [REFUSED, ACCEPTED], progress)
    chosen = calls(folder, count, seed)
    apart = set(random.Random(seed).sample(range(len(chosen)), num_processes))
    with Forks() as forks:
        for number, call in enumerate(chosen):
            workdir = folder / f"workdir{number}"
            arguments = [a.replace("{workdir}", str(workdir)) for a in call.arguments]
            code, text, seconds = (process if number in apart else forks)(arguments)
            outcome = judge(call, code, text, seconds)
            if outcome == REFUSED and workdir.exists():
                outcome = "made the workdir"
            tally.add(
                call.kind, outcome, f"{arguments} -> {code} in {seconds:.1f} s: {text[-400:]}"
            )
    return tally


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=1500)
    parser.add_argument("--processes", type=int, default=20)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        run(pathlib.Path(folder), given.count, given.processes, progress=50).finish()
