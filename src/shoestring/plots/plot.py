"""A plot is a function from a study to a record; calling the plot renders the record's picture."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from inspect import Parameter, signature
from typing import Any, Generic, Literal, ParamSpec, Protocol, TypedDict, TypeVar, get_args

from shoestring.errors import MethodError
from shoestring.plots.picture import Picture, drawable
from shoestring.plots.svg import svg

Backend = Literal["matplotlib", "plotly", "svg"]
_MODULES = {"matplotlib": "with_matplotlib", "plotly": "with_plotly"}


class FigureOptions(TypedDict, total=False):
    """The options that every plot has, in the signatures that editors and type checkers read."""

    backend: Backend
    width: int


class Drawable(Protocol):
    """The contents of a plot as plain values."""

    def picture(self) -> Picture: ...


P = ParamSpec("P")
R = TypeVar("R", bound=Drawable)


class Plot(Generic[P, R]):
    """Call it for a figure; ``data`` gives the record of what it shows.

    ``backend`` is "matplotlib", "plotly" or "svg", which needs no library and gives the text of an SVG document.
    ``width`` is in pixels.
    """

    def __init__(self, make: Callable[P, R]) -> None:
        self._make = make
        self.__name__, self.__doc__, self.__module__ = make.__name__, make.__doc__, make.__module__
        own = signature(make, eval_str=False)
        named = [one for one in own.parameters.values() if one.kind is not Parameter.VAR_KEYWORD]
        figure = [
            Parameter("backend", Parameter.KEYWORD_ONLY, default="matplotlib", annotation="Backend"),
            Parameter("width", Parameter.KEYWORD_ONLY, default=800, annotation="int"),
        ]
        self.__signature__ = own.replace(parameters=[*named, *figure], return_annotation="Any")

    def __call__(self, *given: P.args, **options: P.kwargs) -> Any:
        own: dict[str, Any] = dict(options)
        backend, width = own.pop("backend", "matplotlib"), own.pop("width", 800)
        return render(self._record(*given, **own).picture(), backend, width)

    def data(self, *given: P.args, **options: P.kwargs) -> R:
        """The record of what the plot shows."""
        unused = sorted({"backend", "width"} & set(options))
        if unused:
            raise MethodError(f"data makes no figure, so it takes no {' and no '.join(unused)}")
        return self._record(*given, **options)

    def _record(self, *given: Any, **options: Any) -> R:
        known = self.__signature__.parameters
        for name in options:
            if name not in known:
                raise MethodError(f"{self.__name__} has no option {name!r}; it has {', '.join(list(known)[1:])}")
        return self._make(*given, **options)


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
