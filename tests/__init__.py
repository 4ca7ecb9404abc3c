"""Makes the tests a package, which precedes a `tests` that other distributions install."""
