"""Objectives: the user's function or command, how it is advanced step by step, and the files of its trials."""
