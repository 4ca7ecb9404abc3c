"""The cost of a training on machines elsewhere: memory, messages, time."""
