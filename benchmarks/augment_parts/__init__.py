"""The parts of the benchmark of augmentation search."""
