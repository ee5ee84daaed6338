"""What people see of a study in a terminal."""
