"""Functions of one row: what is refused, and that nothing that is taken sees another row."""

import ast
import linecache
import math
import pickle
import subprocess
import sys
from fractions import Fraction

import leaking_rows as leaking
import numba
import numpy as np
import pytest

from dpcore.errors import InvalidInputError, KernelError
from dpcore.row_functions import functions
from dpcore.row_functions.code import code_of
from dpcore.row_functions.compiled import require_pure
from dpcore.row_functions.row_function import RowFunction

HALF, TWO = 0.5, 2
COMPILED = pytest.mark.skipif(
    not hasattr(functions.NAMES["at"], "py_func"), reason="without the compiler"
)


@numba.njit
def half_of(a):
    """Return half."""
    return a * HALF


@numba.njit
def squared(a):
    return half_of(a) ** TWO


def usual(z: float, y: float, parameters: np.ndarray) -> float:
    """A function with all that there is."""
    total = 0.0
    for k in range(len(parameters)):
        for j in range(1, parameters.size):
            if j == k:
                continue
            total += parameters[j] * max(z, float(k), -1.5)
        if total > 1e6 or not (y > -1.0 and z != 0):
            break
    e = math.exp(-abs(z))
    total -= np.log1p(e) if z > 0.0 else np.tanh(squared(z))
    total *= 1 - min(y, 2.0) / (1 + math.sqrt(e))
    return +total


def filled(function, z, y, parameters=()):
    out = np.full(len(z), np.nan)
    function.fill(np.asarray(z, float), np.asarray(y, float), np.asarray(parameters, float), out)
    return out


def test_it_computes_what_python_does():
    rng = np.random.default_rng(0)
    z, y, parameters = rng.normal(size=200) * 3, rng.choice([-1.0, 1.0], 200), [0.5, -2.0, 3.0]
    found = filled(RowFunction.coefficient(usual), z, y, parameters)
    plain = [usual(a, b, np.array(parameters)) for a, b in zip(z, y, strict=True)]
    np.testing.assert_allclose(found, plain, rtol=1e-13)


def test_its_text_has_what_it_needs():
    text = RowFunction.coefficient(usual).text
    assert [each.name for each in ast.parse(text).body] == ["half_of_3", "squared_2", "usual"]
    again = pickle.loads(pickle.dumps(RowFunction.coefficient(usual)))
    assert again == RowFunction.coefficient(usual)
    assert RowFunction(text, "coefficient") == again


def test_what_it_names_counts_when_it_is_made(monkeypatch):
    before = RowFunction.coefficient(half_coefficient)
    monkeypatch.setattr(sys.modules[__name__], "HALF", 7.0)
    assert filled(before, [1.0], [1.0]).tolist() == [0.5]
    assert filled(RowFunction.coefficient(half_coefficient), [1.0], [1.0]).tolist() == [7.0]


def half_coefficient(z, y, parameters):
    return HALF


def test_code_that_is_put_in_later_does_nothing():
    def one(z, y, parameters):
        return 1.0

    def two(z, y, parameters):
        return 2.0

    made = RowFunction.coefficient(one)
    one.__code__ = two.__code__
    assert filled(made, [0.0], [1.0]).tolist() == [1.0]
    with pytest.raises(AttributeError, match="not to be set"):
        made.text = "def row(z, y, parameters):\n    return 2.0"


@pytest.mark.parametrize("function", leaking.REFUSED, ids=lambda function: function.__name__)
def test_what_keeps_or_stops_is_refused(function):
    for form in (RowFunction.coefficient, RowFunction.weight):
        with pytest.raises(InvalidInputError, match="function"):
            form(function)


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("return y is z", "compares by another sign"),
        ("return parameters[z]", r"as a place in an array: write int\(z\)"),
        ("for k in range(parameters[0]):\n        pass\n    return z", "the end of a range is"),
        ("return 1e400", "not finite"),
        (
            "while z > 0.0:\n        z -= 1.0\n    return z",
            r"for k in range\(100\), and break",
        ),
        ("return np.dot(parameters, z)", "write a loop, .*is z of a coefficient"),
        ("return parameters @ parameters", "write a loop"),
        ("seen = [0.0]\n    return z", "give each number a variable"),
        (
            "for v in parameters:\n        z += v\n    return z",
            r"write for k in range\(len",
        ),
        ("return z * parameters", r"take a place, as parameters\[k\]"),
        ("return z // y", r"write int\(a / b\)"),
        ("return z**y", r"write exp\(b \* log\(a\)\)"),
        ("return np.where(z > 0.0, 1.0, 0.0)", "write a if b else c"),
        ("if z > 3.0:\n        raise ValueError\n    return z", "or write nothing"),
        ("raise ValueError", "or write nothing"),
        ("return z * unknown", "no variable of it and no number outside it"),
        (
            "for k, v in enumerate(parameters):\n        z += v\n    return z",
            r"refused \(For\): write for k in range\(len",
        ),
        (
            "n = len(parameters)\n    for k in range(n):\n        z += k\n    return z",
            r"counts to n: the end of a range is .*, written out",
        ),
        ("return parameters[parameters[0]]", r"write int\(parameters\[0\]\) or a whole"),
        ("return parameters[0:1]", r"refused \(0:1\)\. It may"),
    ],
)
def test_a_refusal_says_what_to_do(line, told):
    with pytest.raises(InvalidInputError, match=told):
        RowFunction(f"def row(z, y, parameters):\n    {line}", "coefficient")
    with pytest.raises(InvalidInputError, match=r"\(z, y, parameters\), where \(x, y, parameters,"):
        RowFunction("def row(z, y, parameters):\n    return z", "contribution")


def test_a_refusal_has_the_line_and_what_there_is():
    line = leaking.waits_for_a_row.__code__.co_firstlineno + 1
    with pytest.raises(InvalidInputError, match=rf"line {line}: .*refused \(While\).*exp, "):
        RowFunction.coefficient(leaking.waits_for_a_row)


def rows_of(n):
    rng = np.random.default_rng(n)
    return np.ascontiguousarray(rng.normal(size=(n, 3)))


@pytest.mark.some_fast
@pytest.mark.parametrize("function", leaking.HELD, ids=lambda function: function.__name__)
def test_a_row_of_a_contribution_sees_itself_alone(function):
    """Each row's result is the same alone, among others, and in another order."""
    made, X = RowFunction.contribution(function), rows_of(50)
    y, parameters = np.where(X[:, 1] > 0, 1.0, -1.0), np.array([1.0, 2.0])

    def results(places):
        out = np.full((len(places), 2), 9.0)
        made.fill(np.ascontiguousarray(X[places]), y[places], parameters, out)
        return out

    whole, order = results(np.arange(50)), np.random.default_rng(1).permutation(50)
    np.testing.assert_array_equal(results(order), whole[order])
    for place in range(50):
        np.testing.assert_array_equal(results(np.array([place]))[0], whole[place])


def test_a_place_outside_is_nan_and_a_write_there_is_nothing():
    out = np.full((2, 2), 9.0)
    arrays = np.arange(6.0).reshape(2, 3), np.ones(2), np.zeros(1)
    RowFunction.contribution(leaking.reads_the_next_row).fill(*arrays, out)
    assert np.isnan(out[:, 0]).all()
    RowFunction.contribution(leaking.writes_to_the_next_row).fill(*arrays, out)
    assert out.tolist() == [[0.0, 0.0], [0.0, 0.0]]
    RowFunction.contribution(leaking.uses_what_a_register_held).fill(*arrays, out)
    assert out.tolist() == [[0.0, 0.0], [7.0, 0.0]]  # the second row's x[0] is 3


@pytest.mark.parametrize(
    "text",
    [
        "",
        "x = 1",
        "import os",
        "def row(z, y, parameters):\n    return __import__('os').getpid()",
        "def row(z, y, parameters):\n    return at(parameters, 0)",
        "def row(z, y, parameters):\n    return v_z",
        "def row(z, y, parameters):\n    return z if z else (yield z)",
        "@print\ndef row(z, y, parameters):\n    return z\ndef row2(): pass",
        "async def row(z, y, parameters):\n    return z",
        "def exp(a):\n    return a\ndef row(z, y, parameters):\n    return exp(z)",
        "def a(t):\n    return t\ndef a(t):\n    return a(t - 1) if t > 0 else 0.0\n"
        "def row(z, y, parameters):\n    return a(z)",
        "def a(t, t):\n    return t\ndef row(z, y, parameters):\n    return a(z, z)",
        "@print\ndef row(z, y, parameters):\n    return z",
        "def row(z, y, parameters):\n    return " + "not " * 300 + "z",
        "def row(z, y, parameters):\n    return min(" + ", ".join(["z"] * 250) + ")",
        "def row(z, y, parameters):\n    return " + "(1 < " * 30 + "z" + " < 2)" * 30,
        "def f0(t):\n    return t\n"
        + "".join(f"def f{k}(t):\n    return f{k - 1}(t) + f{k - 1}(t)\n" for k in range(1, 40))
        + "def row(z, y, parameters):\n    return f39(z)",
        "".join(f"def f{k}(t):\n    return t\n" for k in range(60))
        + "def row(z, y, parameters):\n    return f0(z)",
        "def row(z, y, *parameters):\n    return z",
        "def row(z, y, parameters):\n    return len",
        "def row(z, y, parameters):\n    return row(z, y, parameters)",
        "def row(z, y, parameters):\n    return z\ndef later(a):\n    return a",
        "def row(z, y, parameters):\n    return " + "-" * 100 + "z",
        "def row(z, y, parameters):\n    return " + "(" * 300 + "z" + ")" * 300,
        "def row(z, y, parameters):\n    return " + "+".join(["z"] * 9000),
        "def row(z, y, parameters):\n    return parameters[z]",
        "def row(z, y, parameters):\n    return parameters[True]",
        "def row(z, y, parameters):\n    return 1j * z",
        "def row(z, y, parameters):\n    return 'a'",
        "def row(z, y, parameters):\n    return exp(z, y)",
        "def row(z, y, parameters):\n    return exp(*parameters)",
        "def row(z, y, parameters):\n    return max(z)",
        "def row(z, y, parameters):\n    parameters = z\n    return z",
        "def row(z, y, parameters):\n    z += 1 if z else 2\n    del z\n    return 1.0",
        "def row(z, y, parameters):\n    for z in range(3):\n        pass\n    return z",
        "def row(z, y, parameters):\n    for k in range(3):\n        k = 2.0\n    return z",
        "def row(z, y, parameters):\n    for k in range(3):\n        pass\n    return k",
        "def row(z, y, parameters):\n    for k in range(0, 3, 0):\n        pass\n    return z",
        "def row(z, y, parameters):\n    break\n    return z",
        "def row(z, y, parameters):\n    return z is y",
        "def row(z, y, parameters):\n    return z in parameters",
        "def row(z, y, parameters):\n    z: list = [1]\n    return z",
        "def row(z, y, parameters, out):\n    return z",
    ],
)
def test_a_text_that_the_grammar_does_not_have_is_refused(text):
    with pytest.raises(InvalidInputError):
        RowFunction(text, "coefficient")


def test_a_text_is_no_subclass_and_a_form_is_known():
    class Text(str):
        __slots__ = ()

    text = "def row(z, y, parameters):\n    return z"
    with pytest.raises(InvalidInputError, match="Expected a text"):
        RowFunction(Text(text), "coefficient")
    with pytest.raises(InvalidInputError, match="Expected a text"):
        RowFunction(text, "weights")
    with pytest.raises(InvalidInputError, match="Expected a text"):
        RowFunction(text, Text("coefficient"))
    with pytest.raises(InvalidInputError, match="not at hand"):
        RowFunction.coefficient(eval("lambda z, y, parameters: z"))
    with pytest.raises(InvalidInputError, match="Expected a function of Python, not builtin"):
        RowFunction.coefficient(math.exp)


LARGEST = "(2147483647 * (2147483646 * 2 + 6) + 1)"
"""2^63 - 1, if whole numbers were added as they are."""


@pytest.mark.parametrize(
    "place",
    [
        f"int(2.0 * parameters[k] + 1.0) + {LARGEST}",
        *(
            pytest.param(place, marks=pytest.mark.slow)
            for place in (
                "k * (2147483647 * 2147483647) + k * (2147483647 * 2)",
                f"int(abs(x[0]) * 1000000000.0) + {LARGEST}",
                "len(x) * 2147483647 * 2147483647 * 4 + k",
            )
        ),
    ],
)
def test_places_do_not_leave_their_numbers(place):
    """Where a sum left int64, the compiler took away the test of the place: other rows were read,
    and one of them moved a sum by thirty."""
    text = "def row(x, y, parameters, out):\n    for k in range(1, 31):\n        "
    read = RowFunction(f"{text}out[k] = x[{place}]", "contribution")
    written = RowFunction(f"{text}out[{place}] = 1.0", "contribution")
    X = np.full((100, 2), 0.25)
    X[50] = 0.75
    out = np.zeros((100, 31))
    for made, untouched in ((read, np.isnan), (written, np.logical_not)):
        made.fill(X, np.ones(100), np.arange(31.0), out)
        assert untouched(out[:, 1:]).all()


def test_numbers_keep_their_sign_and_their_value():
    class Number(float):
        def __repr__(self):
            return "z + 7.0"

    minus, odd = -0.0, Number(2.0)

    def signed(z, y, parameters):
        return 1.0 / (minus * abs(y))

    def other(z, y, parameters):
        return odd

    assert filled(RowFunction.coefficient(signed), [0.0], [1.0]).tolist() == [-math.inf]
    with pytest.raises(InvalidInputError, match="no number outside it"):
        RowFunction.coefficient(other)


def test_honest_functions_of_logarithms_are_taken():
    text = "def row(z, y, parameters):\n    return z / log(abs(z)) + log(abs(y * z))"
    assert np.isfinite(filled(RowFunction(text, "coefficient"), [2.0, -3.0], [1.0, -1.0])).all()


NAMES = "def f_a(v_a):", "def row(v_z, v_y, a_parameters):"


def test_the_code_has_names_of_its_own_alone():
    text = "def a(a):\n    return a\ndef row(z, y, parameters):\n    return a(z) / 3"
    assert code_of(text, "coefficient").splitlines() == [
        NAMES[0],
        "    return v_a",
        NAMES[1],
        "    return over(f_a(v_z), 3.0)",
    ]


POINTS = [
    *(0.0, -0.0, 1.0, -1.0, 0.3, -0.3, 1e-9, -1e-9, 1e-300, 5e-324, 0.7071, 1.4143, 0.4999, 0.5001),
    *(3.0, -3.0, 20.0, -20.0, 300.0, -300.0, 700.5, -700.5, 709.7, -707.9, 1e5, 1e300),
]


@pytest.mark.parametrize("name", ["exp", "expm1", "log", "log1p", "tanh", "sqrt", "abs"])
def test_functions_are_right_to_2_to_the_minus_48(name):
    mpmath = pytest.importorskip("mpmath")
    ours = functions.NAMES[f"m_{name}"]
    exact = getattr(mpmath, name if name != "abs" else "fabs")
    rng = np.random.default_rng(0)
    points = [*POINTS, *rng.normal(size=300), *(rng.normal(size=300) * 100)]
    with mpmath.workdps(60), np.errstate(all="ignore"):
        for t in points:
            if (name in ("log", "sqrt") and t < 0) or (name == "log1p" and t <= -1):
                assert np.isnan(ours(t)) or ours(t) == -np.inf
                continue
            if name == "log" and t == 0:
                assert ours(t) == -np.inf
                continue
            expected = exact(mpmath.mpf(float(t)))
            if abs(expected) > sys.float_info.max:
                assert ours(t) == math.inf
            elif name == "exp" and t < -708:
                assert ours(t) == 0.0
            else:
                error = abs(mpmath.mpf(float(ours(t))) - expected)
                assert error <= abs(expected) * 2.0**-48 + sys.float_info.min, (t, ours(t))


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_functions_of_what_is_not_finite(value):
    with np.errstate(all="ignore"):
        for name in ("exp", "expm1", "log", "log1p", "tanh", "sqrt", "abs"):
            ours = functions.NAMES[f"m_{name}"](value)
            theirs = getattr(np, name)(value)
            np.testing.assert_equal(float(ours), float(theirs))
    assert functions.NAMES["whole"](value) == -1
    assert Fraction(int(functions.NAMES["whole"](2.0**31 - 1))) == 2**31 - 1


PROCESS = """
import sys, numpy as np
from dpcore.row_functions.row_function import RowFunction, _loop
out, one = np.empty(1), np.ones(1)
for factor in sys.argv[1:]:
    text = "def h(a):\\n    for k in range(40):\\n        a = exp(log1p(a))\\n    return a\\n"
    text += "def row(z, y, parameters):\\n    return (h(z) - h(z)) * h(z + 1.0) + " + factor
    RowFunction(text, "coefficient").fill(one, one, one, out)
    print(out[0], sum(_loop(text, "coefficient").stats.cache_hits.values()))
"""


@pytest.mark.slow
@COMPILED
def test_a_second_process_finds_what_was_compiled(tmp_path, monkeypatch):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))

    def run(*factors):
        command = [sys.executable, "-c", PROCESS, *factors]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()

    assert run("2.5") == ["2.5", "0"]
    assert run("2.5") == ["2.5", "1"]
    assert run("3.5") == ["3.5", "0"]  # another function is not taken for it
    # Each was compiled in a process of its own, where its functions had the same names.
    assert run("3.5", "2.5") == ["3.5", "1", "2.5", "1"]


def llvm_of(function, *types):
    return numba.njit(types)(function).overloads[types].library.get_llvm_str()


@COMPILED
def test_compiled_code_that_calls_or_keeps_is_found():
    counts = np.zeros(1)

    def calls(x):
        return math.gamma(x)

    def allocates(x):
        return np.full(3, x)[0]

    def prints(x):
        print(x)
        return x

    def harmless(x):
        return x * 2.0 + math.sqrt(x)

    def of_a_constant_array(x):
        return x + counts[0]

    for function in (calls, allocates, prints):
        with pytest.raises(KernelError, match="it is not run"):
            require_pure(llvm_of(function, numba.float64))
    require_pure(llvm_of(harmless, numba.float64))
    require_pure(llvm_of(of_a_constant_array, numba.float64))
    with pytest.raises(KernelError, match="not one piece"):
        require_pure("")


STEPS = """
def row(z, y, parameters):
    t = z
    for i in range({}):
        for j in range({}):
            t += 1.0
    return t
"""
AGAIN = "def h(a):\n    for k in range(99999):\n        a += 1.0\n    return a\n"


@pytest.mark.parametrize(
    "text",
    [
        STEPS.format("2147483647", "2"),
        STEPS.format("99999", "i * 9, 0"),
        STEPS.format("-2147483647, 0", "3"),
        AGAIN + STEPS.format("99999", "1").replace("1.0", "h(t)"),
    ],
)
def test_loops_have_an_end_in_sight(text):
    """Or a row alone could decide, by break or return, whether a run ends."""
    with pytest.raises(InvalidInputError, match="steps for one row"):
        RowFunction(text, "coefficient")


def test_lengths_within_each_other_are_taken():
    RowFunction(STEPS.format("len(parameters)", "len(parameters)"), "coefficient")


def test_names_of_any_characters_are_counted():
    text = "def \u2118(t):\n    return t\n"
    for k in range(40):
        known = f"\u2118{k - 1 if k else ''}(t)"
        text += f"def \u2118{k}(t):\n    return {known} + {known}\n"
    with pytest.raises(InvalidInputError, match="too much code"):
        RowFunction(text + "def row(z, y, parameters):\n    return \u211839(z)", "coefficient")
    dotted = "def x\u00b7f_a(t):\n    return t\n"
    dotted += "def row(z, y, parameters):\n    return x\u00b7f_a(z)"
    assert filled(RowFunction(dotted, "coefficient"), [2.0], [1.0]).tolist() == [2.0]


@pytest.mark.parametrize(("name", "value"), [("_LEAST", 0.0), ("_TINY", 0.5)])
def test_a_thread_with_other_numbers_runs_none(monkeypatch, name, value):
    made = RowFunction.coefficient(half_coefficient)
    monkeypatch.setattr(f"dpcore.row_functions.row_function.{name}", value)
    for run in (made.require_compiled, lambda: filled(made, [1.0], [1.0])):
        with pytest.raises(KernelError, match="changed how its thread computes"):
            run()


@pytest.mark.skipif(hasattr(functions.NAMES["at"], "py_func"), reason="with the compiler")
def test_no_row_decides_whether_there_is_room_for_its_calls():
    text = "def h0(a):\n    return a\n"
    text += "".join(f"def h{k}(a):\n    return h{k - 1}(a)\n" for k in range(1, 50))
    text += "def row(z, y, parameters):\n    return h49(z) if z > 0.5 else 0.0"
    made = RowFunction(text, "coefficient")

    def outcome(z, depth):
        try:
            return filled(made, [z], [1.0])[0] if depth == 0 else outcome(z, depth - 1)
        except RecursionError:
            return None

    for depth in range(700, 990, 3):
        assert (outcome(0.0, depth) is None) == (outcome(1.0, depth) is None)


def test_nothing_behind_an_array_is_read():
    three = RowFunction.coefficient(lambda_of_margin)
    z, y, none = np.ones(6), np.ones(6), np.empty(0)
    for given in ((z[:3], y, np.empty(6)), (z, y[:3], np.empty(6)), (z[:3], y[:3], np.empty(6))):
        with pytest.raises(KernelError, match="a place of out for each row"):
            three.fill(given[0], given[1], none, given[2])
    three.fill(z[:3], y[:3], none, out := np.empty(3))
    assert out.tolist() == [2.0, 2.0, 2.0]


def lambda_of_margin(z, y, parameters):
    return z + y


def _shadowed(name, value):
    """Return a function of a row that calls what this module would have under a name."""
    source = f"def shadowed(z, y, parameters):\n    return {name}(z)\n"
    linecache.cache["<shadowed>"] = (len(source), None, source.splitlines(True), "<shadowed>")
    scope = {name: value}
    exec(compile(source, "<shadowed>", "exec"), scope)
    return scope["shadowed"]


@pytest.mark.parametrize(
    ("name", "value"), [("log", math.log2), ("sqrt", np.cbrt), ("tanh", type("T", (), {})())]
)
def test_another_function_under_a_name_of_the_grammars_is_refused(name, value):
    # It was compiled as the core's own: log(8) was 2.08, where that which was written says 3.
    with pytest.raises(InvalidInputError, match=f"it has {name}, which is another function"):
        RowFunction.coefficient(_shadowed(name, value))
    assert "log(z)" in RowFunction.coefficient(_shadowed("log", math.log)).text
