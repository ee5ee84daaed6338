"""Methods that exist for comparison."""
