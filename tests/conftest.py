"""Settings of all tests."""

from __future__ import annotations

import os

from hypothesis import settings

# Machines are loaded and noisy: no example fails for its time. In CI the same examples come each time.
settings.register_profile("fabricstudy", deadline=None, derandomize="CI" in os.environ)
settings.load_profile("fabricstudy")
