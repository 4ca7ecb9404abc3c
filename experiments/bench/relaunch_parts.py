"""Time each part of the start of ``python -m el_jax.train``, and print one JSON object.

Takes the arguments of that command. The environment variable ``STARTED`` holds the time at which
the process was started.
"""

import json
import os
import sys
import time

INTERPRETER_UP = time.time()

_EVENTS = {
    "/jax/core/compile/jaxpr_trace_duration": "tracing",
    "/jax/core/compile/jaxpr_to_mlir_module_duration": "lowering",
    "/jax/core/compile/backend_compile_duration": "compiling or loading",
    "/jax/compilation_cache/cache_retrieval_time_sec": "loading from the cache",
}


def _main() -> None:
    started = float(os.environ["STARTED"])
    marks = {"interpreter": INTERPRETER_UP}

    import jax

    from el_jax import build, train  # noqa: F401
    from el_jax.runtime import launch

    marks["imports"] = time.time()
    inside = dict.fromkeys(_EVENTS.values(), 0.0)

    def listen(event: str, duration_secs: float, **_: str | int) -> None:
        if event in _EVENTS:
            inside[_EVENTS[event]] += duration_secs

    jax.monitoring.register_event_duration_secs_listener(listen)
    launch.use_compilation_cache()
    config, _ = launch.command_line(sys.argv)
    marks["config file"] = time.time()
    jax.devices()
    marks["backend"] = time.time()
    settings = build.parse(config)
    marks["settings"] = time.time()
    training = build.build(settings)
    jax.block_until_ready((training.evaluations, training.final_evaluations))
    marks["data sets"] = time.time()
    before = dict(inside)
    state = jax.block_until_ready(training.program.init())
    marks["initialisation"] = time.time()
    jax.block_until_ready(training.program.advance(state, 1))
    marks["first update"] = time.time()

    ends = list(marks.values())
    parts = dict(zip(marks, map(float.__sub__, ends, [started, *ends[:-1]]), strict=True))
    parts |= {f"data sets, of it {name}": seconds for name, seconds in before.items()}
    parts |= {
        f"initialisation and first update, of it {name}": seconds - before[name]
        for name, seconds in inside.items()
    }
    print(json.dumps(parts))


if __name__ == "__main__":
    _main()
