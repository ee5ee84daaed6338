"""Notes as HTML: Markdown without raw HTML, without images, and with links to web addresses only."""

from __future__ import annotations

from functools import cache

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markdown_it.utils import EnvType, OptionsDict
from markupsafe import Markup

from shoestring._text import printable

_SCHEMES = ("http://", "https://", "mailto:", "#")


class _Renderer(RendererHTML):
    """Links say nothing to where they lead."""

    def link_open(self, tokens: list[Token], place: int, options: OptionsDict, env: EnvType) -> str:
        tokens[place].attrSet("rel", "noopener noreferrer nofollow")
        return self.renderToken(tokens, place, options, env)


def _is_harmless(url: str) -> bool:
    return url.lower().startswith(_SCHEMES)


@cache
def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": False}, renderer_cls=_Renderer).enable(["table", "strikethrough"])
    parser.disable("image")
    parser.validateLink = _is_harmless  # type: ignore[method-assign]
    return parser


def markdown(text: str) -> Markup:
    """The note as HTML that is safe to show.

    >>> from shoestring.web.markdown import markdown
    >>> print(markdown("**bold** <b> [x](javascript:alert(1))"), end="")
    <p><strong>bold</strong> &lt;b&gt; [x](javascript:alert(1))</p>
    """
    lines = "\n".join(str(printable(line)) for line in text.split("\n"))
    return Markup(_parser().render(lines))
