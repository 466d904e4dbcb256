from __future__ import annotations

import pytest

from wirespeed.quantities import factor_text, quantity


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("12.2 ms", (0.0122, "s")),
        ("6.2ms", (0.0062, "s")),
        ("0.64 ns", (0.64e-9, "s")),
        ("1_000 µs", (0.001, "s")),
        ("15 min", (900.0, "s")),
        ("9.5 Gbit/s", (9.5e9, "bit/s")),
        ("8 MiB", (8 * 2.0**20, "B")),
        ("1.5 kB", (1500.0, "B")),
        ("0.5 bdp", (0.5, "BDP")),
        (1e-5, (1e-5, "")),
        (0, (0.0, "")),
        ("0", (0.0, "")),
        (".5 s", (0.5, "s")),
        ("5. s", (5.0, "s")),
        ("7", None),
        ("cubic", None),
        ("10 parsec", None),
        ("1.2.3 s", None),
        (". s", None),
        ("-3 ms", None),
        ("٣ ms", None),
        (True, None),
        (None, None),
        (["a"], None),
    ],
)
def test_quantity(text: object, expected: tuple[float, str] | None) -> None:
    assert quantity(text) == expected


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1e-4, "1e-4"),
        (2.2e-8, "2.2e-8"),
        (0.00012345, "1.2345e-4"),
        (0.001, "0.001"),
        (0, "0"),
        (0.0, "0.0"),
        (5, "5"),
        (True, "true"),
        ("20 ms", "20 ms"),
        (None, "\u2013"),
    ],
)
def test_factor_text_is_as_the_program_prints_it(value: object, text: str) -> None:
    assert factor_text(value) == text
