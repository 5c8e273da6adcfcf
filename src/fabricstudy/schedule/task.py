"""What the event loop works on."""

from __future__ import annotations

from typing import NamedTuple


class Task(NamedTuple):
    """Arrays."""
