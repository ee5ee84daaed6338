"""The experiments of ``budgeted_tuning.py``, one file each."""
