"""The parts of ``batch_optimisation.py``."""
