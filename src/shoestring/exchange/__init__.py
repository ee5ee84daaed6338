"""Studies of other libraries as studies of ours, and ours as theirs; each library is imported only when used."""
