"""Arithmetic of finite fields of any prime power, as tables.

An element of the field of p^n elements is the number whose digits to the base p are the coefficients of a
polynomial, the lowest first; polynomials are reduced by a monic one of degree n of which x is a primitive root.

References
----------
Lidl, Niederreiter: Introduction to Finite Fields and their Applications. Cambridge 1994, chapters 2 and 9.
"""

from dataclasses import dataclass
from itertools import product

import numpy as np

from fabricstudy.core.arrays import Ints
from fabricstudy.core.model import ConfigError


@dataclass(frozen=True, eq=False)
class GaloisField:
    """A finite field of q elements, written 0 .. q - 1."""

    powers: Ints
    """``powers[i]`` is the i-th power of a primitive element, so all elements but 0; int64 [q - 1]."""
    plus: Ints
    times: Ints
    """Sum and product of two elements; int64 [q, q] each."""


def galois_field(prime: int, degree: int) -> GaloisField:
    """Return the field of ``prime ** degree`` elements, by the lexically first primitive polynomial.

    Examples
    --------
    >>> four = galois_field(2, 2)
    >>> four.powers.tolist(), four.plus[2, 3].item(), four.times[2, 3].item()
    ([1, 2, 3], 1, 1)
    """
    q = prime**degree
    digits = np.arange(q)[:, None] // prime ** np.arange(degree) % prime
    plus = (digits[:, None] + digits[None]) % prime @ prime ** np.arange(degree)
    powers = next(
        powers for tail in product(range(prime), repeat=degree) if (powers := _powers_of_x(tail, prime)) is not None
    )
    exponent = np.zeros(q, dtype=np.int64)
    exponent[powers] = np.arange(q - 1)
    times = powers[(exponent[:, None] + exponent[None]) % (q - 1)]
    times[0, :] = times[:, 0] = 0
    return GaloisField(powers, plus, times)


def galois_field_of_order(q: int) -> GaloisField:
    """Return the field of `q` elements, a prime power."""
    prime = prime_of(q)
    assert prime is not None  # checked by the study
    return galois_field(prime, next(degree for degree in range(1, q) if prime**degree == q))


def prime_of(q: int) -> int | None:
    """Return the prime of which `q` is a power, or None if `q` is not a prime power.

    Examples
    --------
    >>> prime_of(27), prime_of(19), prime_of(12), prime_of(1)
    (3, 19, None, None)
    """
    prime = next((number for number in range(2, q + 1) if q % number == 0), None)
    if prime is None:
        return None
    while q % prime == 0:
        q //= prime
    return prime if q == 1 else None


def check_prime_power(q: int) -> None:
    """Raise ConfigError, with the nearest prime powers, if the key `q` is not one."""
    if prime_of(q) is None:
        below = next(number for number in range(q - 1, 2, -1) if prime_of(number))
        above = next(number for number in range(q + 1, 2 * q + 1) if prime_of(number))
        raise ConfigError("q must be a prime power", f"use {below} or {above}", ("q",), q, "invalid-machine")


def _powers_of_x(tail: tuple[int, ...], prime: int) -> Ints | None:
    """Return the powers of x modulo the polynomial x^n + tail, or None if x is not primitive."""
    q = prime ** len(tail)
    element = (1, *([0] * (len(tail) - 1)))
    powers = []
    for _ in range(q - 1):
        powers.append(sum(digit * prime**power for power, digit in enumerate(element)))
        shifted = (0, *element)
        element = tuple((shifted[power] - shifted[-1] * digit) % prime for power, digit in enumerate(tail))
    elements = np.array(powers)
    return elements if len(np.unique(elements)) == q - 1 and 0 not in powers else None
