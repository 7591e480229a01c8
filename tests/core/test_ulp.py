"""Distances between floats, counted in floats."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from freezecompat._bits import different_bits
from freezecompat.parity.ulp import NOT_COMPARABLE, hex_bits, ulp_distance

WIDTHS = {np.float16: 16, np.float32: 32, np.float64: 64}
DTYPES = pytest.mark.parametrize("dtype", list(WIDTHS), ids=lambda dtype: dtype.__name__)


def distance(dtype, a, b):
    return int(ulp_distance(dtype(a), dtype(b)))


@DTYPES
@pytest.mark.parametrize(
    "a, b, expected",
    [
        pytest.param(1.0, 1.0, 0, id="equal"),
        pytest.param(0.0, -0.0, 0, id="zeros-of-either-sign"),
        pytest.param(np.nan, np.nan, 0, id="two-nans"),
        pytest.param(np.nan, 1.0, NOT_COMPARABLE, id="nan-and-number"),
        pytest.param(-np.inf, np.nan, NOT_COMPARABLE, id="infinity-and-nan"),
        pytest.param(np.inf, np.inf, 0, id="infinities"),
    ],
)
def test_special_values(dtype, a, b, expected):
    """Zeros are one number, NaNs are equal to each other and far from all else."""
    assert distance(dtype, a, b) == expected
    assert distance(dtype, b, a) == expected


@DTYPES
def test_infinity_follows_the_largest_number(dtype):
    """Infinity is one step from the largest finite number."""
    assert distance(dtype, np.finfo(dtype).max, np.inf) == 1


@DTYPES
def test_counts_through_zero(dtype):
    """From the smallest negative number to the smallest positive one it is two steps."""
    tiny = np.nextafter(dtype(0), dtype(1))
    assert distance(dtype, -tiny, tiny) == 2


def test_from_the_first_float_to_the_last():
    """The whole range does not overflow."""
    assert distance(np.float64, -np.inf, np.inf) == 2 * 0x7FF0000000000000


def test_two_results_of_problem_1():
    """The two values that problem 1 has on different TensorFlows are one apart."""
    pair = np.array([0x3F009345, 0x3F009344], np.uint32).view(np.float32)
    assert distance(np.float32, *pair) == 1


@DTYPES
@given(data=st.data())
def test_distance_is_a_distance_on_a_line(dtype, data):
    """Distances add up along the order of the floats."""
    numbers = st.floats(allow_nan=False, width=WIDTHS[dtype])
    a, b, c = sorted(data.draw(st.tuples(numbers, numbers, numbers)))
    assert distance(dtype, a, c) == distance(dtype, a, b) + distance(dtype, b, c)
    assert (distance(dtype, a, b) == 0) == (a == b)


@DTYPES
@given(data=st.data())
def test_counts_single_steps(dtype, data):
    """n calls of nextafter are n steps."""
    number = dtype(data.draw(st.floats(allow_nan=False, allow_infinity=False, width=WIDTHS[dtype])))
    steps = data.draw(st.integers(0, 20))
    other = number
    with np.errstate(over="ignore"):
        for _ in range(steps):
            other = np.nextafter(other, dtype(-np.inf))
    if np.isfinite(other):
        assert distance(dtype, number, other) == steps


def test_byte_order_does_not_matter():
    """Values are compared, not their layout in memory; of two orders, two dtypes."""
    a = np.array([1.0, 2.0], ">f4")
    assert ulp_distance(a, a).tolist() == [0, 0]
    assert ulp_distance(a, np.nextafter(a, np.float32(9)).astype(">f4")).tolist() == [1, 1]


@pytest.mark.parametrize(
    "a, b, error",
    [
        pytest.param(np.float32([1]), np.float64([1]), TypeError, id="two-dtypes"),
        pytest.param(np.int32([1]), np.int32([1]), TypeError, id="integers"),
        pytest.param(np.float32([1]), np.float32([1, 2]), ValueError, id="two-shapes"),
    ],
)
def test_refuses_what_has_no_distance(a, b, error):
    """Only arrays of one float dtype and one shape are compared."""
    with pytest.raises(error, match="ulp_distance compares"):
        ulp_distance(a, b)


def test_different_bits_compares_bytes():
    """Unlike a distance, bits tell the zeros apart."""
    a = np.array([[0.0, np.nan], [1.0, 2.0]], np.float32)
    b = np.array([[-0.0, np.nan], [1.0, 3.0]], np.float32)
    assert different_bits(a, b).tolist() == [[True, False], [False, True]]
    assert different_bits(a[0, 0], b[0, 0])


def test_hex_bits_reads_like_the_number():
    """The sign and exponent come first, whatever the machine's byte order."""
    assert hex_bits(np.array([[0.5022471], [-2.0]], np.float32)) == ["3f009344", "c0000000"]
