"""Models: arrays in, arrays out. They know nothing of studies."""
