"""Training: state, step, program, loop, and the sinks of its metrics."""
