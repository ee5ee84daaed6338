"""Render the result pages from their templates and the data files.

See harness/render.py for what a template can hold.
"""

if __name__ == "__main__":
    import sys
    from pathlib import Path

    sys.path[0] = str(Path(__file__).parents[1])
    from benchmarks.harness.render import main

    main()
