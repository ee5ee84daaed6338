"""A study as plain values for people: no terminal, no HTML, no drawing."""
