"""The dashboard: pages of the studies of a storage, live in a browser (extra ``dashboard``)."""
