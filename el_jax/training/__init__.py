"""Running a training: state, step, loop, checkpoints, metrics."""
