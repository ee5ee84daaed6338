"""The experiments of ``sub_sampling.py``, one file each."""
