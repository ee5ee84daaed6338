"""Pictures as plotly figures."""

from __future__ import annotations

import plotly.graph_objects as go

from shoestring.plots.figure_values import figure_values
from shoestring.plots.picture import Picture


def figure(picture: Picture, width: int = 800) -> go.Figure:
    """The picture as a figure."""
    return go.Figure(figure_values(picture, width))
