"""What people see of a study in a terminal or a notebook."""
