"""Mean and interval of repetitions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist
from typing import NamedTuple

# 97.5 % quantiles of Student's t distribution for 1 to 30 degrees of freedom.
_STUDENT = (
    12.7062, 4.3027, 3.1824, 2.7764, 2.5706, 2.4469, 2.3646, 2.3060, 2.2622, 2.2281,
    2.2010, 2.1788, 2.1604, 2.1448, 2.1314, 2.1199, 2.1098, 2.1009, 2.0930, 2.0860,
    2.0796, 2.0739, 2.0687, 2.0639, 2.0595, 2.0555, 2.0518, 2.0484, 2.0452, 2.0423,
)  # fmt: skip


class Estimate(NamedTuple):
    """The mean of observations."""

    mean: float
    half_width: float | None
    """Half of the 95 % confidence interval of the mean; `None` for one observation."""
    n: int


def estimate(values: Sequence[float]) -> Estimate:
    """Mean and 95 % interval of at least one observation, assumed to be normally distributed."""
    n = len(values)
    if n < 2:
        return Estimate(values[0], None, n)
    # `statistics.stdev` computes with fractions, which takes seconds for 20,000 settings.
    mean = math.fsum(values) / n
    variance = math.fsum((value - mean) ** 2 for value in values) / (n - 1)
    return Estimate(mean, student(n - 1) * math.sqrt(variance / n), n)


def student(freedom: int) -> float:
    """The 97.5 % quantile of Student's t distribution, to 4 digits."""
    if freedom <= len(_STUDENT):
        return _STUDENT[freedom - 1]
    # Cornish and Fisher's expansion around the normal quantile; Abramowitz and Stegun, 26.7.5.
    z = NormalDist().inv_cdf(0.975)
    first = (z**3 + z) / 4
    second = (5 * z**5 + 16 * z**3 + 3 * z) / 96
    return z + first / freedom + second / freedom**2
