"""Integrations with other tools; each imports its framework only when used."""
