"""Strings of one fixed length, packed into windows and distributed over updates."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jaxtyping import Int

from el_jax.types import Batch, Key


def window_layout(
    strings_per_window: int, string_length: int
) -> tuple[Int[np.ndarray, "T"], Int[np.ndarray, "T"]]:
    """For each position of a window, the index of its string and its place in that string.

    Raises:
        ValueError: if ``strings_per_window`` is not positive.
    """
    if strings_per_window < 1:
        raise ValueError(f"strings_per_window={strings_per_window!r}: must be at least 1")
    position = np.arange(strings_per_window * string_length, dtype=np.int32)
    return np.divmod(position, np.int32(string_length))


def pack_windows(
    tokens: Int[Array, "S L"],
    groups: Int[Array, "S"],
    supervised_places: Int[np.ndarray, "A"],
    *,
    strings_per_window: int,
    reset_positions: bool = False,
    doc_mask: bool = False,
) -> Batch:
    """Concatenate consecutive strings, ``n`` per window, with next tokens as labels.

    Args:
        tokens: ``S`` strings of ``L`` tokens.
        groups: the group of each string.
        supervised_places: increasing positions in a string whose next token is supervised.
        strings_per_window: ``n``.
        reset_positions: restart positions at each string.
        doc_mask: make each string a document of its own.

    Returns:
        ``S / n`` windows of ``n L`` tokens with ``P = n A`` supervised slots, string by string,
        so that ``[B, P]`` reshaped to ``[S, A]`` has one string per row.

    Raises:
        ValueError: if ``n`` is not positive or does not divide the number of strings.
    """
    num, length = tokens.shape
    string, place = window_layout(strings_per_window, length)
    if num % strings_per_window:
        allowed = f"a divisor of the {num} strings to pack"
        raise ValueError(f"strings_per_window={strings_per_window!r}: must be {allowed}")
    windows = tokens.reshape(-1, place.size)
    supervised = np.flatnonzero(np.isin(place, supervised_places)).astype(np.int32)
    shape = (len(windows), supervised.size)
    return Batch(
        tokens=windows,
        supervised=jnp.broadcast_to(supervised, shape),
        labels=windows[:, supervised + 1],
        mask=jnp.ones(shape, bool),
        groups=jnp.repeat(groups, len(supervised_places)).reshape(shape),
        positions=jnp.broadcast_to(place, windows.shape) if reset_positions else None,
        documents=jnp.broadcast_to(string, windows.shape) if doc_mask else None,
    )


def epoch_order(
    key: Key, num: int, strings_per_update: int, *, static: bool
) -> Int[Array, "updates {strings_per_update}"]:
    """Indices of the strings (of ``num``) that each update of an epoch reads, every string once.

    Args:
        key: one per epoch.
        num: a multiple of ``strings_per_update``.
        strings_per_update: strings one update reads.
        static: permute the updates rather than the strings; an update's strings stay together in
            order for any key.
    """
    strings = jnp.arange(num, dtype=jnp.int32)
    if static:
        return jax.random.permutation(key, strings.reshape(-1, strings_per_update))
    return jax.random.permutation(key, strings).reshape(-1, strings_per_update)
