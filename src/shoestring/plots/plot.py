"""A plot is a function from a study to a record; calling the plot renders the record's picture."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any, Generic, Literal, ParamSpec, Protocol, TypeVar, get_args

from shoestring.errors import MethodError
from shoestring.plots.picture import Picture, drawable
from shoestring.plots.svg import svg

Backend = Literal["matplotlib", "plotly", "svg"]
_MODULES = {"matplotlib": "with_matplotlib", "plotly": "with_plotly"}


class Drawable(Protocol):
    """What a plot shows, as plain values."""

    def picture(self) -> Picture: ...


P = ParamSpec("P")
R = TypeVar("R", bound=Drawable)


class Plot(Generic[P, R]):
    """Call it for a figure; ``data`` gives the record of what it shows.

    ``backend`` is "matplotlib", "plotly" or "svg", which needs no library and gives the text of an SVG document.
    ``width`` is in pixels.
    """

    def __init__(self, data: Callable[P, R]) -> None:
        self.data = data
        self.__name__, self.__doc__, self.__module__ = data.__name__, data.__doc__, data.__module__

    def __call__(self, *given: Any, backend: Backend = "matplotlib", width: int = 800, **options: Any) -> Any:
        return render(self.data(*given, **options).picture(), backend, width)


def render(picture: Picture, backend: Backend = "matplotlib", width: int = 800) -> Any:
    """A picture as a figure of matplotlib or plotly, or as SVG text."""
    if backend not in get_args(Backend):
        raise MethodError(f"backend is {backend!r}; it must be one of {', '.join(map(repr, get_args(Backend)))}")
    if not isinstance(width, int) or not 200 <= width <= 4000:
        raise MethodError(f"width is {width!r}; it must be a whole number of pixels from 200 to 4000")
    if backend == "svg":
        return svg(drawable(picture), width)
    try:
        return import_module(f"shoestring.plots.{_MODULES[backend]}").figure(drawable(picture), width)
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] != backend:
            raise
        raise MethodError(
            f"this needs {backend}: pip install 'shoestring[plots]', or use backend='svg', which needs nothing"
        ) from None
