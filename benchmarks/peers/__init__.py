"""Other libraries' optimisers: called here, or as a script in an environment of their own."""
