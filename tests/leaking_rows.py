"""Functions of a row that keep something, read another row or stop a run, as a careless author
writes them: each is refused, or moves a sum by no more than the clip."""

# ruff: noqa: B006, F401, F841, NPY002, S307
import math

import numba
import numpy as np

SEEN = [0.0]
COUNTS = np.zeros(3)
THRESHOLD = 0.5


def remembers_in_a_list(z, y, parameters):
    SEEN[0] += 1.0
    return SEEN[0]


def remembers_in_an_array(z, y, parameters):
    COUNTS[0] += 1.0
    return COUNTS[0]


def remembers_in_a_global(z, y, parameters):
    global THRESHOLD
    THRESHOLD += z
    return THRESHOLD


def remembers_in_its_parameters(z, y, parameters):
    parameters[0] += 1.0
    return parameters[0]


def remembers_in_a_default(z, y, parameters, seen=[0]):
    return z


def draws(z, y, parameters):
    return np.random.normal()


def waits_for_a_row(z, y, parameters):
    while z > 0.0:
        z = z * 1.0
    return z


def calls_itself(z, y, parameters):
    return calls_itself(z, y, parameters)


def stops_the_run(z, y, parameters):
    if z > 3.0:
        raise ValueError(z)
    return z


def asserts(z, y, parameters):
    assert z < 3.0
    return z


def prints(z, y, parameters):
    print(z)
    return z


def imports(z, y, parameters):
    import os

    return z


def compiles_text(z, y, parameters):
    return eval("z")


def reaches_an_attribute(z, y, parameters):
    return z.__class__.__name__


def calls_a_method(z, y, parameters):
    return parameters.sum()


def slices(z, y, parameters):
    return parameters[0:2]


def makes_an_array(z, y, parameters):
    return np.zeros(3)[0]


def makes_a_function(z, y, parameters):
    return (lambda a: a)(z)


def has_a_comprehension(z, y, parameters):
    return sum([z for _ in range(3)])


def unpacks(z, y, parameters):
    a, b = z, y
    return a


def counts_to_a_private_end(z, y, parameters):
    total = 0.0
    for _ in range(int(z)):
        total += 1.0
    return total


def counts_over_an_array(z, y, parameters):
    total = 0.0
    for value in parameters:
        total += value
    return total


def returns_nothing_at_times(z, y, parameters):
    if z > 0.0:
        return z


def has_another_argument(z, y):
    return z


def shadows(z, y, parameters):
    exp = z
    return exp


def tries(z, y, parameters):
    try:
        return z
    finally:
        SEEN[0] = z


def walrus(z, y, parameters):
    return (t := z) + t


def gamma(z, y, parameters):
    return math.gamma(z)


def divides_whole_numbers(z, y, parameters):
    return z // y


def raises_to_a_private_power(z, y, parameters):
    return z**y


def not_finite(z, y, parameters):
    return z * 1e400


@numba.njit
def another_kernel(z):
    SEEN_OTHER = z
    while SEEN_OTHER > 1.0:
        SEEN_OTHER *= 0.5
    return SEEN_OTHER


def calls_a_kernel_that_waits(z, y, parameters):
    return another_kernel(z)


REFUSED = [
    value
    for name, value in [*globals().items()]
    if callable(value) and name not in ("another_kernel",) and not name.startswith("_")
]


def reads_the_next_row(x, y, parameters, out):
    out[0] = x[len(x)]


def reads_before_its_row(x, y, parameters, out):
    out[0] = x[0 - 1]


def writes_to_the_next_row(x, y, parameters, out):
    out[len(out)] = 5.0
    out[0 - 1] = 5.0


def counts_what_was_there(x, y, parameters, out):
    out[0] += 1.0


def uses_what_a_register_held(x, y, parameters, out):
    if x[0] > 2.0:
        left = 7.0
    out[0] = left


def reads_far_away(x, y, parameters, out):
    out[0] = x[int(1e9 * x[0])] + x[int(x[0] / 0.0)]


def divides_by_zero(x, y, parameters, out):
    out[0] = 1.0 / (x[0] - x[0])
    out[1] = math.log(-1.0) + math.sqrt(-2.0)


def multiplies_a_rare_row(x, y, parameters, out):
    out[0] = 1e300 * x[0] if y > 0.0 else 1e-300
    out[1] = 1e300 * 1e300


def counts_its_parameters_up(x, y, parameters, out):
    for k in range(len(parameters)):
        out[0] += parameters[k]


HELD = [
    reads_the_next_row,
    reads_before_its_row,
    writes_to_the_next_row,
    counts_what_was_there,
    uses_what_a_register_held,
    reads_far_away,
    divides_by_zero,
    multiplies_a_rare_row,
    counts_its_parameters_up,
]
