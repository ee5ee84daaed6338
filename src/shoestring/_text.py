"""Make texts that may hold anything, such as texts from a log, safe for a terminal."""

from __future__ import annotations

import logging


def one_line(text: str) -> str:
    r"""Escape line ends, control characters and characters that change the writing direction.

    >>> from shoestring._text import one_line
    >>> one_line("two\nlines")
    'two\\nlines'
    """
    return text if text.isprintable() else "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


def printable(text: str) -> str:
    """The same for a text of several lines."""
    return "\n".join(map(one_line, text.split("\n")))


class EscapeRecords(logging.Filter):
    """Escapes what the package logs: a message may quote a log that a stranger wrote."""

    def filter(self, record: logging.LogRecord) -> bool:
        message = record.getMessage()
        if not message.isprintable():
            record.msg, record.args = one_line(message), ()
        return True
