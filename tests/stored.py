"""Changing a stored log from outside, as damage or an attacker would."""

import sqlite3

from shoestring.core.checksums import first_link, link_event


def execute(storage, *statements):
    with sqlite3.connect(storage) as connection:
        for statement, *values in statements:
            connection.execute(statement, values)
    connection.close()


def edit(storage, seq=1, sealed=True, **columns):
    """Change an event; sealed with checksums that match, as only a program that means to could."""
    for column, value in columns.items():
        execute(storage, (f"UPDATE events SET {column} = ? WHERE seq = ?", value, seq))
    if sealed:
        seal(storage)


def seal(storage):
    with sqlite3.connect(storage) as connection:
        for study, name in connection.execute("SELECT id, name FROM studies").fetchall():
            link = first_link(str(name))
            query = "SELECT seq, kind, at, body FROM events WHERE study = ? ORDER BY seq"
            for row in connection.execute(query, (study,)).fetchall():
                link = link_event(link, *row)
                connection.execute("UPDATE events SET checksum = ? WHERE study = ? AND seq = ?", (link, study, row[0]))
    connection.close()
