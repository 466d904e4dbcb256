"""The figures of runs and sweeps, as objects of Plotly or Matplotlib.

Each function takes `backend`: `"plotly"` gives a `plotly.graph_objects.Figure`, `"matplotlib"` a
`matplotlib.figure.Figure`. Colours stay apart under the common colour-vision deficiencies.
"""

from .backend import Backend
from .of_runs import cwnd_over_time, goodput_over_time, losses, queue_over_time, rtt_over_time
from .of_sweeps import cdf, heat_map, line_with_interval, throughput_delay

__all__ = [
    "Backend",
    "cdf",
    "cwnd_over_time",
    "goodput_over_time",
    "heat_map",
    "line_with_interval",
    "losses",
    "queue_over_time",
    "rtt_over_time",
    "throughput_delay",
]
