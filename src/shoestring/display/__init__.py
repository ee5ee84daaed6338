"""The display of a study in a terminal or a notebook."""
