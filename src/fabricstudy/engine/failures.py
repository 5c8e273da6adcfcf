"""Why a point has no result."""


class EngineFailure(Exception):
    """The simulation failed; the message is the reason in the tables."""


class Unsupported(Exception):
    """An engine cannot simulate the point; the message is the reason in the tables."""


class BackgroundMismatch(Exception):
    """Background jobs must send for `needed_ns`: until the other jobs end and, where it matters, no longer."""

    def __init__(self, needed_ns: float) -> None:
        super().__init__(f"background jobs must send for {needed_ns:.4g} ns")
        self.needed_ns = needed_ns
