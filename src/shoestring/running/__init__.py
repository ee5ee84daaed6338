"""Running a study: the loop between its log and an executor, and the options of a run."""
