"""Addresses of databases, and how they are shown: a password never is."""

from __future__ import annotations

import re
from pathlib import Path

from shoestring.errors import StorageError, brief

POSTGRES = ("postgresql", "postgres")


def is_postgres(storage: str) -> bool:
    return storage.partition("://")[0] in POSTGRES and "://" in storage


def sqlite_path(storage: str) -> str:
    """The path in a path or in ``sqlite:///path``; empty for other addresses.

    >>> sqlite_path("sqlite:////tmp/study.db"), sqlite_path("study.db"), sqlite_path("postgresql://host/tuning")
    ('/tmp/study.db', 'study.db', '')
    """
    scheme, colon, rest = storage.partition("://")
    if not colon:
        return storage
    return rest.removeprefix("/") if scheme == "sqlite" else ""


def hide_password(storage: object) -> str:
    """A storage for a message: what may be a password in an address is left out.

    >>> hide_password("postgresql://ada:secret@db.example:5432/tuning?password=secret")
    'postgresql://ada:***@db.example:5432/tuning?password=***'
    """
    text = str(storage)
    if "://" not in text:
        return text
    text = re.sub(r"://([^:/?@]*):.*@", r"://\1:***@", text, flags=re.DOTALL)
    return re.sub(r"(?i)(password=)[^&]*", r"\1***", text)


def check_text(storage: str) -> None:
    """Refuse what no file and no address can be called, and what could not be shown in a message."""
    try:
        storage.encode()
    except UnicodeEncodeError:
        raise StorageError(
            f"the storage {brief(hide_password(storage))} has characters that cannot be written as UTF-8"
        ) from None


def is_there(path: str) -> bool:
    """Tell whether there is a file; an error of ours if the name itself is impossible."""
    try:
        return Path(path).expanduser().exists()
    except (OSError, ValueError, RuntimeError) as error:  # too long, a null byte, no such home
        raise StorageError(f"the storage {brief(path)} cannot be used: {reason(error)}") from None


def reason(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error)


def check_address(address: str) -> None:
    """Refuse an address that would be taken apart in the wrong place, with a part of the password as the host."""
    place = re.split(r"[/?]", address.partition("://")[2], maxsplit=1)[0]
    if place.count("@") > 1:
        raise StorageError(
            f"the storage {hide_password(address)} has several @; write one that belongs to the password as %40, or "
            "keep the password in PGPASSWORD or ~/.pgpass"
        )
