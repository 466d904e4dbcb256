"""The choice of the library that draws."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypeAlias, assert_never

if TYPE_CHECKING:
    from .chart import Chart

Backend: TypeAlias = Literal["plotly", "matplotlib"]


def draw(chart: Chart, backend: Backend) -> Any:
    """The chart as an object of the library.

    Raises:
        MissingPackage: the library is not installed.
    """
    match backend:
        case "plotly":
            from .in_plotly import figure

            return figure(chart)
        case "matplotlib":
            from .in_matplotlib import figure as drawn

            return drawn(chart)
        case _:
            assert_never(backend)
