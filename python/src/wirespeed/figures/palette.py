"""Colours that stay apart under the common colour-vision deficiencies.

The hues are those of Okabe and Ito, "Color Universal Design" (2008), as in the report of wirespeed.
"""

from __future__ import annotations

from collections.abc import Sequence

COLOURS = ("#0072b2", "#d55e00", "#00916a", "#bb5f94", "#db8f00", "#4ca8db", "#8c7e00", "#55555f")
"""Blue, vermilion, green, purple, orange, sky blue, olive, neutral."""

DASHES = ("solid", "dash", "dot", "dashdot")
"""Once all colours are taken, the next lines have another dash."""

MAP = "cividis"
"""The scale of a heat map: uniform in perception, and the same with and without red-green vision."""

# In every report these controls have these colours, unless another control of the study has taken it.
_PREFERRED = {"cubic": 0, "bbr": 1, "bic": 2, "reno": 3, "dctcp": 4, "vegas": 5, "htcp": 4, "scalable": 6}


def styles(labels: Sequence[str]) -> list[tuple[str, str]]:
    """A colour and a dash for each label, by its position; labels are distinct."""
    wanted = {label: _PREFERRED[label] for label in labels if label in _PREFERRED}
    taken: dict[str, int] = {}
    for label, index in wanted.items():
        if index not in taken.values():
            taken[label] = index
    free = (index for index in range(len(COLOURS) * len(DASHES)) if index not in set(taken.values()))
    chosen = [taken[label] if label in taken else next(free, 0) for label in labels]
    return [(COLOURS[index % len(COLOURS)], DASHES[index // len(COLOURS) % len(DASHES)]) for index in chosen]
