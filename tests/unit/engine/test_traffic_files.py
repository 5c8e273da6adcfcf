"""Times and sizes in the units of a simulator are never below the true ones."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from fabricstudy.engine.traffic_files import whole_times, whole_units


@given(st.lists(st.floats(0, 1e9), max_size=20), st.sampled_from([0.001, 0.5, 1.0, 3.2, 7.0]))
def test_times_are_rounded_up(duration_ns: list[float], unit_ns: float) -> None:
    units = whole_times(np.array(duration_ns, dtype=np.float64), unit_ns)
    exact = np.array(duration_ns) / unit_ns
    assert (units >= exact * (1 - 1e-9)).all() and (units <= exact + 1).all()


@given(st.integers(0, 2**40), st.integers(1, 9000))
def test_a_quotient_that_is_whole_but_for_rounding_is_that_number(units: int, unit: int) -> None:
    assert whole_times(np.array([units * (unit / 1000)]), unit / 1000).tolist() == [units]
    assert whole_units(np.array([units * unit, units * unit + 1]), unit).tolist() == [units, units + 1]
