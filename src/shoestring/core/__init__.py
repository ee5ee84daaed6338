"""The heart of a study: the events, the fold of them, the ledger, and from a decision to a grant."""
