"""Quantities."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Any

import pint
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from fabricstudy.core import quantities
from fabricstudy.core.model import ConfigError
from fabricstudy.core.quantities import BASE_UNITS_CONTEXT, Bandwidth, Duration, Latency, Memory, Size, to_unit
from fabricstudy.study.file import validate_machine

DEFINITIONS = """
pico- = 1e-12 = p-
nano- = 1e-9 = n-
micro- = 1e-6 = u- = µ- = μ-
milli- = 1e-3 = m-
kilo- = 1e3 = k-
mega- = 1e6 = M-
giga- = 1e9 = G-
tera- = 1e12 = T-
peta- = 1e15 = P-
kibi- = 1024 = Ki-
mebi- = 1048576 = Mi-
gibi- = 1073741824 = Gi-
tebi- = 1099511627776 = Ti-
second = [time] = s
minute = 60 second = min
hour = 3600 second = h
day = 86400 second = d
bit = [information] = b
byte = 8 bit = B
"""


@pytest.mark.parametrize(
    ("text", "unit", "expected"),
    [
        ("1 GB/s", "byte/second", 1e9),
        ("8Gb/s", "byte/second", 1e9),
        ("1 GiB/s", "byte/second", 2**30),
        ("60 GB/min", "byte/second", 1e9),
        ("1.5 gigabyte / second", "byte/second", 1.5e9),
        ("100 kB", "byte", 1e5),
        ("64 KiB", "byte", 65536),
        ("1e3 B", "byte", 1000),
        ("16 bit", "byte", 2),
        ("40 ns", "nanosecond", 40),
        ("0.04 us", "nanosecond", 40),
        ("0.04 µs", "nanosecond", 40),
        ("1 ms", "nanosecond", 1e6),
        ("10 min", "second", 600),
        ("2 h", "second", 7200),
    ],
)
def test_reads(text: str, unit: str, expected: float) -> None:
    assert to_unit(text, unit, "") == expected


@pytest.mark.parametrize(
    "text",
    ["1G", "1", "GB/s", "1 GB", "1 KB/s", "1 gb/s", "1 GB/s/s", "1 /s", "1 s/B", "1 GB/s + 1 GB/s", "2*3 GB/s",
     "9**9 GB/s",
     "1 GB/parsec", "nan GB/s", "inf GB/s", "1..2 GB/s", "1 GB\n/s x", "", "__import__('os')"],
)  # fmt: skip
def test_refuses(text: str) -> None:
    with pytest.raises(ValueError, match=r"not a quantity with the right unit.*; write it like '1 GB/s'"):
        to_unit(text, "byte/second", "1 GB/s")


@given(st.decimals(min_value="0.001", max_value=100_000, places=3))
def test_equal_quantities_are_equal_numbers(number: object) -> None:
    """However it is written, a quantity gives the same float, or ids would depend on the way of writing."""
    giga = to_unit(f"{number} GB/s", "byte/second", "")
    for text in (f"{number}e3 MB/s", f"{number}e9 B/s", f"{number}e-3 TB/s"):
        assert to_unit(text, "byte/second", "") == giga


@pytest.mark.parametrize(
    ("kind", "text"),
    [(Bandwidth, "1 kB/s"), (Bandwidth, "100 TB/s"), (Bandwidth, "800 Gb/s"), (Latency, "0 ns"), (Latency, "1 s"),
     (Duration, "1 ms"), (Duration, "10000 h"), (Size, "1 B"), (Size, "4194304 TiB"), (Memory, "1 MB")],
)  # fmt: skip
def test_what_can_be_is_read(kind: Any, text: str) -> None:
    TypeAdapter(kind).validate_python(text)


@pytest.mark.parametrize(
    ("kind", "text", "least", "most"),
    [(Bandwidth, "1e30 GB/s", "1 kB/s", "100 TB/s"), (Bandwidth, "1e-30 B/s", "1 kB/s", "100 TB/s"),
     (Bandwidth, "101 TB/s", "1 kB/s", "100 TB/s"), (Bandwidth, "0 B/s", "1 kB/s", "100 TB/s"),
     (Bandwidth, "-1 GB/s", "1 kB/s", "100 TB/s"),
     (Latency, "100000 s", "0 s", "1 s"), (Latency, "-1 ns", "0 s", "1 s"),
     (Duration, "0.5 ms", "1 ms", "10000 h"), (Duration, "10001 h", "1 ms", "10000 h"),
     (Size, "0 B", "1 B", "4194304 TiB"), (Size, "1e30 B", "1 B", "4194304 TiB"),
     (Memory, "1 kB", "1 MB", "4194304 TiB")],
)  # fmt: skip
def test_what_cannot_be_is_refused_with_its_range(kind: Any, text: str, least: str, most: str) -> None:
    with pytest.raises(ValidationError) as error:
        TypeAdapter(kind).validate_python(text)
    assert f"{least} to {most}" in str(error.value)


def test_what_we_wrote_ourselves_is_no_text_and_has_no_range() -> None:
    assert TypeAdapter(Bandwidth).validate_python(1e30, context=BASE_UNITS_CONTEXT) == 1e30


def test_bits_a_second_are_told_as_they_are_written_here() -> None:
    machine = {"kind": "torus", "shape": [4], "bandwidth": "10 Gbps"}
    with pytest.raises(ConfigError) as caught:
        validate_machine(machine)
    assert caught.value.code == "invalid-quantity" and "10 Gb/s" in caught.value.remedy
    assert validate_machine({**machine, "bandwidth": "10 Gb/s"}).build().host.bandwidth_Bps == 1.25e9
    # What asks for another quantity does not offer a bandwidth.
    with pytest.raises(ConfigError) as caught:
        validate_machine({**machine, "bandwidth": "1 GB/s", "latency": "8 kb/s"})
    assert "/s" not in caught.value.remedy


@pytest.fixture(scope="module")
def pint_registry() -> pint.UnitRegistry[Any]:
    registry: pint.UnitRegistry[Any] = pint.UnitRegistry(None, non_int_type=Decimal, cache_folder=None)
    registry.load_definitions(DEFINITIONS.strip().splitlines())
    return registry


@pytest.mark.parametrize("unit", ["byte", "nanosecond", "byte/second", "GiB/min"])
def test_units_are_those_of_pint(unit: str, pint_registry: pint.UnitRegistry[Any]) -> None:
    names = [*quantities._SCALES, "KB", "Bs", "ss", "GBs", "sec", "hr", "in", "kminut", "bps", "k", "parsec"]
    if "/" in unit:
        names = [f"{one} / {other}" for one, other in zip(names[::3], names[::-3], strict=True)]
    for name in names:
        try:
            expected = float(pint_registry.Quantity(Decimal("7.1"), name).to(unit).magnitude)
        except pint.PintError:
            expected = None
        try:
            assert to_unit(f"7.1 {name}", unit, "") == expected, name
        except ConfigError:
            assert expected is None, name


@pytest.mark.parametrize("text", ["1e400 B", "1e-400 B", "0.5 B", "0 B", "-5 kB"])
def test_sizes_out_of_range_have_the_range_as_remedy(text: str) -> None:
    with pytest.raises(ValidationError) as caught:
        TypeAdapter(Size).validate_python(text)
    (error,) = caught.value.errors()
    assert error["ctx"]["error"].code == "out-of-range"


@given(st.floats(1.0, 1e15).filter(lambda size: not size.is_integer()))
def test_the_remedy_for_a_part_of_a_byte_are_the_two_sizes_next_to_it(size: float) -> None:
    with pytest.raises(ValidationError) as caught:
        TypeAdapter(Size).validate_python(f"{Decimal(size):f} B")
    (error,) = caught.value.errors()
    low, high = (int(part) for part in re.findall(r"(\d+) B", error["ctx"]["error"].remedy))
    assert low < size < high == low + 1
