"""Commands as objectives: programs in any language that print their readings."""
