"""Objectives: what a user gives to be tuned, how it is advanced step by step, and the files of its trials."""
