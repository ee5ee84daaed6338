"""The parts of parallel.py."""
