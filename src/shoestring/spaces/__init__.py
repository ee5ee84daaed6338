"""The search space, and the one codec between it and the unit cube."""
