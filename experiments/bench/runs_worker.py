"""Updates of the copy task's training, of one run or of many, in a process of its own.

python -m experiments.bench.runs_worker JSON
"""

import json
import sys
from typing import Any

from el_jax import build
from el_jax.runtime.compilation import use_compilation_cache
from experiments.bench.trainings import Updates, copy_config
from experiments.bench.worker import serve


def _main(asked: dict[str, Any]) -> None:
    use_compilation_cache()
    config = copy_config(smoke=asked["smoke"], seeds=asked["seeds"], run_axis=asked["run_axis"])
    config.model.update(asked["sizes"])
    training = build.build(build.parse(config))
    serve({"updates": Updates(training, asked["num_updates"], asked["calls"])})


if __name__ == "__main__":
    _main(json.loads(sys.argv[1]))
