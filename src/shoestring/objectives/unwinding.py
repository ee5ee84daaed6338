"""Exceptions that end an objective from outside; not of the kind Exception, so that objectives do not catch them."""

from __future__ import annotations


class TimeIsUp(BaseException):
    """Raised inside a step that must end."""


class GrantEnded(BaseException):
    """Unwinds a function where its grant ends."""
