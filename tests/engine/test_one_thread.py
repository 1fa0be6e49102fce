"""Linear algebra has one thread while somebody computes, and what it had before afterwards."""

from __future__ import annotations

import numpy as np  # loads the library whose threads are counted
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from imop_engine.one_thread import one_thread


def threads() -> set[int]:
    assert np.eye(2) @ np.eye(2) is not None
    return {one["num_threads"] for one in threadpool_info() if one["user_api"] == "blas"}


def test_whoever_leaves_last_gives_the_threads_back():
    with threadpool_limits(2, user_api="blas"):
        before = threads()
        first, second = one_thread(), one_thread()
        first.__enter__()
        second.__enter__()
        assert threads() == {1}
        first.__exit__(None, None, None)
        assert threads() == {1}
        second.__exit__(None, None, None)
        assert threads() == before


def test_an_error_gives_them_back_too():
    with threadpool_limits(2, user_api="blas"):
        before = threads()
        with pytest.raises(ZeroDivisionError), one_thread():
            raise ZeroDivisionError
        assert threads() == before
