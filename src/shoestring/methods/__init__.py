"""Methods by name, and as plain values that a log can hold."""

from shoestring.methods.registry import auto, described, named, names, rebuilt

__all__ = ["auto", "described", "named", "names", "rebuilt"]
