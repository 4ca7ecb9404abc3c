"""``python -m el_jax`` prints the map of the package and its commands."""

import el_jax

print(el_jax.__doc__)
