"""What every test shares: one hypothesis profile, the same draws on every machine."""

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.internal.conjecture.providers import HypothesisProvider
from hypothesis.internal.constants_ast import Constants

# Derandomised: a red test is red for everyone, today and tomorrow. No deadline:
# the first example pays for compiling the kernels.
settings.register_profile(
    "house", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("house")

# Derandomised or not, hypothesis mixes numbers and words from the source of every module of ours
# that is loaded by then into what it draws, so the examples of a test would depend on the tests
# that the same process ran before it. There is no setting for this, and a provider of our own does
# not reach all draws: the pool itself stays empty (test_draws.py sees whether it does).
HypothesisProvider._local_constants = Constants()


LONGEST = (
    "tests/browser", "tests/experiments", "tests/test_bench", "tests/packaging",
    "tests/app/test_pages", "tests/shell/test_learn",
)  # fmt: skip


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The longest files first, so that no worker ends with one of them while the other waits."""

    def place(item: pytest.Item) -> int:
        found = (n for n, start in enumerate(LONGEST) if item.nodeid.startswith(start))
        return next(found, len(LONGEST))

    items.sort(key=place)
