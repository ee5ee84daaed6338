"""The long description of the package: the README without links that only work in the repository.

A package index shows the README far from the files that it links to. With a URL "Source" under [project.urls] of
pyproject.toml the relative links and pictures become absolute. Without one, links become plain text and pictures are
left out.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

try:
    from hatchling.metadata.plugin.interface import MetadataHookInterface
except ImportError:  # the tests look at long_description alone
    MetadataHookInterface = object

_LINK = re.compile(r"(!?)\[([^\]]*)\]\((?!https?:|#|mailto:)([^)\s]+)\)")


def long_description(readme: str, source: str | None) -> str:
    """Replace the relative links of a README; ``source`` is the address of the repository, if it has one."""

    def replacement(link: re.Match[str]) -> str:
        picture, text, target = link.groups()
        if source is None:
            return "" if picture else text
        return f"{picture}[{text}]({source.rstrip('/')}/{'raw' if picture else 'blob'}/main/{target})"

    return _LINK.sub(replacement, readme)


class LongDescription(MetadataHookInterface):
    """The hook that hatchling calls when it builds the package."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Add the field ``readme``."""
        text = (Path(self.root) / "README.md").read_text(encoding="utf-8")
        source = metadata.get("urls", {}).get("Source")
        metadata["readme"] = {"content-type": "text/markdown", "text": long_description(text, source)}
