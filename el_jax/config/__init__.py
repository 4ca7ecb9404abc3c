"""Turn a ConfigDict into checked, frozen settings; names in configs are read only here.

What reads a section raises ``ConfigError``: one line that names the dotted field, its value and the
allowed ones.
"""
