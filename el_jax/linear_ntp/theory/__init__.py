"""What can be said of a problem without solving it: losses, subspaces, certificates, flows."""
