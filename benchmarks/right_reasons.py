"""Which checks are right to warn in which condition, by the condition's key.

Apart from `conditions`, so that a change here does not make finished studies out of date.
"""

from __future__ import annotations

from typing import Final

RIGHT_REASONS: Final[dict[str, tuple[str, ...]]] = {}
