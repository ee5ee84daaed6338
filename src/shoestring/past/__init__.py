"""What a user brings along: past studies of similar models, and a guess. Both become the plan of a study."""
