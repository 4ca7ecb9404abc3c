"""From a ConfigDict to checked, frozen settings; the only reader of names in configs."""
