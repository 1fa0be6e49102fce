"""What every test shares: one hypothesis profile, the same draws on every machine."""

from hypothesis import HealthCheck, settings

# Derandomised: a red test is red for everyone, today and tomorrow. No deadline:
# the first example pays for compiling the kernels.
settings.register_profile(
    "house", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("house")
