"""Turn a ConfigDict into checked, frozen settings; names in configs are read only here."""
