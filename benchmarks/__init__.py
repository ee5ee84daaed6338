"""The benchmarks: ``python -m benchmarks.NAME`` or ``python benchmarks/NAME.py`` runs one; README.md lists them.

=========  =========================================================================================================
harness    what all share: the command line, kept runs, rows and pages, how a task is played and methods are compared
peers      other libraries' optimisers
tasks      tasks that several suites play
suites     what each benchmark measures, one folder each
=========  =========================================================================================================
"""
