"""Run the README with an installed shoestring, in an empty folder: nothing of the checkout may be needed.

    python tests/programs/readme_from_wheel.py

Run it with the Python of an environment that has the wheel alone; ``make release-check`` does that.
"""

import os
import re
import subprocess
import sys
import tempfile
from importlib.metadata import metadata
from pathlib import Path

import shoestring

ROOT = Path(__file__).parents[2]


def main() -> None:
    if Path(shoestring.__file__).is_relative_to(ROOT / "src"):
        sys.exit("shoestring is imported from the checkout; install the wheel and run this with its Python")
    if re.search(r"\]\((?!https?:|#)", str(metadata("shoestring").get_payload())):
        sys.exit("the long description of the package has a relative link, which leads nowhere on a package index")
    snippets = re.findall(r"^```python\n(.*?)^```", (ROOT / "README.md").read_text(), re.DOTALL | re.MULTILINE)
    names: dict[str, object] = {"__name__": "readme"}
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for snippet in snippets:
            exec(compile(snippet, "README.md", "exec"), names)
        subprocess.run([Path(sys.executable).with_name("shoestring"), "--version"], check=True)
        os.chdir(ROOT)
    print(f"{len(snippets)} snippets of the README ran with {shoestring.__file__}")


if __name__ == "__main__":
    main()
