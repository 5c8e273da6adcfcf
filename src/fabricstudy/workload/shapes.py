"""Factorisation of rank counts into grids."""

from functools import lru_cache


@lru_cache(maxsize=256)
def balanced_shape(ranks: int, dimensions: int) -> tuple[int, ...]:
    """Factorise `ranks` as evenly as possible into `dimensions` lengths, longest first.

    The longest length is minimal, then the second, and so on, as ``MPI_Dims_create`` requires.

    Examples
    --------
    >>> balanced_shape(272, 3), balanced_shape(144, 3), balanced_shape(7, 2)
    ((17, 4, 4), (6, 6, 4), (7, 1))
    """
    shape = _lengths(ranks, dimensions, ranks)
    assert shape is not None
    return shape


def _lengths(ranks: int, dimensions: int, longest: int) -> tuple[int, ...] | None:
    """First factorisation in lexicographic order with no length above `longest`, or None."""
    if dimensions == 1:
        return (ranks,) if ranks <= longest else None
    for length in divisors(ranks):
        if length**dimensions >= ranks and length <= longest:
            rest = _lengths(ranks // length, dimensions - 1, length)
            if rest is not None:
                return (length, *rest)
    return None


@lru_cache(maxsize=4096)
def divisors(number: int) -> tuple[int, ...]:
    """Return all divisors, ascending.

    Examples
    --------
    >>> divisors(12)
    (1, 2, 3, 4, 6, 12)
    """
    low = [d for d in range(1, int(number**0.5) + 2) if number % d == 0]
    return tuple(sorted({*low, *(number // d for d in low)}))
