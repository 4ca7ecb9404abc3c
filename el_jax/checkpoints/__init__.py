"""Checkpoints of any state with a ``step``: written by orbax, sealed by a manifest of our own.

``store`` writes and restores those of one process, ``shared`` those of several. ``python -m
el_jax.checkpoints inspect FOLDER`` looks at them without touching them.
"""
