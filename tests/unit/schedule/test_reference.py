"""The reference simulator itself, on cases worked out by hand."""

import pytest

from .reference import Job, Partition, Reference, run_on_nodes

LEFT, RIGHT = frozenset({"left"}), frozenset({"right"})
HALVES = (Partition(1, LEFT), Partition(1, RIGHT), Partition(2, LEFT | RIGHT, frozenset({"cable"})))

# One half is busy until 10, the next job wants both, and the third one half.
FIRST, BOTH = Job(0, 10, 10, 1), Job(1, 5, 5, 2)


@pytest.mark.parametrize(
    ("third", "backfill", "starts"),
    [
        (Job(2, 8, 8, 1), "easy", [0, 10, 2]),  # ends at 10, when both halves are wanted
        (Job(2, 9, 9, 1), "easy", [0, 10, 15]),  # would end at 11
        (Job(2, 8, 8, 1), "none", [0, 10, 15]),
        (Job(2, 8, 8, 1), "conservative", [0, 10, 2]),
        (Job(2, 9, 9, 1), "conservative", [0, 10, 15]),
        (Job(2, 7, 7, 1), "drain", [0, 10, 2]),
        (Job(2, 9, 9, 1), "drain", [0, 10, 15]),
    ],
)
def test_a_job_overtakes_where_it_delays_nobody(third: Job, backfill: str, starts: list[float]) -> None:
    found = Reference([FIRST, BOTH, third], HALVES, "fcfs", backfill).run()
    assert [found[job][0] for job in range(3)] == starts


def test_wfp_prefers_the_job_whose_wait_over_request_has_grown_most() -> None:
    # Both wait for the one half; the score of the later, shorter one passes that of the earlier at
    # (t - 1) / 10 = (t - 4) / 2, that is at t = 4.75.
    for busy, first in ((4.5, 1), (5.0, 2)):
        jobs = [Job(0, busy, busy, 1), Job(1, 10, 10, 1), Job(4, 2, 2, 1)]
        found = Reference(jobs, HALVES[:1], "wfp", "none").run()
        assert min((found[job][0], job) for job in (1, 2))[1] == first


def test_on_nodes_the_reservation_is_a_set_or_a_number() -> None:
    # From 1 on node 0 is free, 1 and 2 until 4 and 3 until 10 are not; the head wants two at 4, so that one is over.
    jobs = [Job(0, 1, 1, 1), Job(0, 4, 4, 2), Job(0, 10, 10, 1), Job(1, 5, 5, 2), Job(2, 9, 9, 1)]
    of_set = run_on_nodes(jobs, 4, "fcfs", "easy")
    assert of_set[3] == (4, frozenset({0, 1}))
    assert of_set[4] == (4, frozenset({2}))
    assert run_on_nodes(jobs, 4, "fcfs", "easy", count_only=True)[4] == (2, frozenset({0}))
