"""The experiments of ``costly_feedback.py`` that do not fit into one file."""
