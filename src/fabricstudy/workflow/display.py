"""What a running study shows: one line a job, what is running, and the estimated time left.

Used by Snakemake through the logger plugin ``fabricstudy``.
"""

import sys
import time
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from threading import Event
from typing import TextIO

from fabricstudy.core.phrasing import duration

OTHER_S = 3.0
"""Elapsed seconds of a job without a forecast, before the first one of its rule ends."""
LATE = 0.25
"""Part of the time that a job has taken that it still takes at least."""
INTERRUPTED = Event()
"""Set by Ctrl-C."""
LAST_LINES = 10
"""Shown of the log of a failed job."""


class RunDisplay:
    """Shows the jobs of a run: a progress bar in a terminal, and a line a finished job.

    `forecast_s` returns the predicted seconds of a job of each rule, as soon as they are known.
    """

    def __init__(self, stream: TextIO | None = None, forecast_s: Callable[[], Mapping[str, float]] = dict) -> None:
        from rich.console import Console  # loading it takes longer than a study with nothing to do
        from rich.live import Live

        self._console = Console(file=stream or sys.stderr, highlight=False, soft_wrap=True, markup=False, emoji=False)
        self._left: Counter[str] = Counter()
        self._read_forecast, self._forecast_s = forecast_s, dict[str, float]()
        self._total = 0
        self._running: dict[object, tuple[str, str, float]] = {}
        self._seconds: dict[str, list[float]] = {}
        self._most_running = 1
        self._live = Live(console=self._console, get_renderable=self._status, transient=True, refresh_per_second=2)

    def plan(self, jobs: Mapping[str, int]) -> None:
        """Begin with the number of jobs of each rule."""
        self._left = Counter({rule: count for rule, count in jobs.items() if rule not in ("all", "total")})
        self._total = self._left.total()
        if self._console.is_terminal:
            self._live.start()

    def start(self, job: object, rule: str, words: str) -> None:
        self._running[job] = rule, words, time.monotonic()
        self._most_running = max(self._most_running, len(self._running))

    def finish(self, job: object) -> None:
        if job not in self._running:  # the target, which does nothing
            return
        rule, words, start_s = self._running.pop(job)
        seconds = time.monotonic() - start_s
        self._seconds.setdefault(rule, []).append(seconds)
        self._left[rule] -= 1
        line = f"[{self.done}/{self._total}] {words}: {duration(seconds)}"
        self.say(line if self._console.is_terminal or not self.done < self._total else f"{line}; {self.time_left()}")

    def fail(self, job: object, log: str) -> None:
        """Show that a job failed, and the end of its log; nothing of one that was interrupted."""
        if INTERRUPTED.is_set():
            return
        _, words, _ = self._running.pop(job, ("", "a job", 0.0))
        self.say(f"FAILED: {words}; see {log}")
        if Path(log).is_file():
            lines = Path(log).read_text(encoding="utf-8", errors="replace").splitlines()[-LAST_LINES:]
            self.say("\n".join(f"    {line}" for line in lines))

    def say(self, line: str) -> None:
        self._console.print(line)

    def close(self) -> None:
        self._live.stop()

    @property
    def done(self) -> int:
        return self._total - self._left.total()

    def time_left(self) -> str:
        """Return the estimated time left: that of the jobs of each rule, divided by those at a time.

        Jobs take the mean time of those of their rule that have ended, else the predicted one; those that are running
        take the rest of it, or a part of what they have taken if that is longer.
        """
        now = time.monotonic()
        self._forecast_s = self._forecast_s or dict(self._read_forecast())
        each = self._forecast_s | {rule: sum(times) / len(times) for rule, times in self._seconds.items()}
        mean = {rule: each.get(rule, OTHER_S) for rule in self._left}
        left_s = sum(count * mean[rule] for rule, count in self._left.items())
        for rule, _, start in self._running.values():
            if rule in mean:
                left_s += max(-(now - start), LATE * (now - start) - mean[rule])
        return f"about {duration(left_s / self._most_running)} left"

    def _status(self) -> str:
        width = self._console.width
        bar = "#" * (30 * self.done // max(self._total, 1))
        head = f"[{bar:.<30}] {self.done} of {self._total} jobs, {self.time_left()}"
        now = time.monotonic()
        running = [f"  {words} ({duration(now - start)})" for _, words, start in self._running.values()]
        more = [f"  and {len(running) - 5} more"] if len(running) > 5 else []
        return "\n".join(line[: width - 1] for line in [head, *running[:5], *more])
