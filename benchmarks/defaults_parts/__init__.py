"""The parts of ``defaults.py``."""
