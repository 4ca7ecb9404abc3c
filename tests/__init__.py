"""A package, since some distributions install a `tests` of their own that would come first."""
