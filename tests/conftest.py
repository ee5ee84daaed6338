"""Fixtures that tests of all folders share."""

from tests.databases import database, server

__all__ = ["database", "server"]
