"""One config file per published setting: ``configs/TRACK/NAME.py``."""
