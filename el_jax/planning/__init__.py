"""The price of a training on machines that are not here: memory, messages, time."""
