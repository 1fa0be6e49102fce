"""Hypothesis draws the same examples whatever modules are loaded."""

import importlib
import sys

from hypothesis import given, settings
from hypothesis import strategies as st

DRAWS = 300


def drawn():
    """What a derandomised test is given: integers, floats and texts."""
    found = []

    @given(st.integers(0, 10**6), st.floats(-1e6, 1e6), st.text(max_size=5))
    @settings(max_examples=DRAWS)
    def collect(integer, number, text):
        found.append((integer, number, text))

    collect()
    return found


def test_a_module_that_is_loaded_later_does_not_change_what_is_drawn(tmp_path, monkeypatch):
    """One in twenty numbers comes from a pool that hypothesis fills from source files."""
    before = drawn()
    lines = [f"{1000 + 7 * i}, {i + 0.123}, 'w{i}'," for i in range(200)]
    (tmp_path / "full_of_numbers.py").write_text("\n".join(["ALL = [", *lines, "]"]))
    monkeypatch.syspath_prepend(tmp_path)
    module = importlib.import_module("full_of_numbers")
    monkeypatch.setitem(sys.modules, "full_of_numbers", module)
    after = drawn()
    assert len(before) >= DRAWS // 2
    assert after == before
