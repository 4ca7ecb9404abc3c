"""Makes the tests a package, which is found before a `tests` that other distributions install."""
