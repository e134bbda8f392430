"""Odd values in the fields of every part of ours that acts on rows: either they are refused, or an
answer moves by no more than the sensitivity that is charged."""

import ast
import dataclasses
import math
from functools import cache
from importlib import import_module
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from dpcore.plugin import (
    ClippedGradientSum,
    Gaussian,
    InvalidInputError,
    Laplace,
    NeighboringRelation,
    RowCount,
    Settings,
)
from dpcore.plugin.parts import (
    CoefficientSum,
    ContributionSum,
    LocalEngine,
    LossFacts,
    RowFunction,
    SeededNoise,
    Sensitivity,
    TableSession,
    load_registry,
    sealed,
)
from dpcore.privacy.immutable import private_copy
from dpcore_lab.made_tables.tables import Rows, make_problem

ROOT = Path(__file__).parents[2]
Logistic, Squared = (load_registry().load("loss", name) for name in ("logistic", "ridge"))
ADD, REPLACE = NeighboringRelation.ADD_OR_REMOVE_ONE, NeighboringRelation.REPLACE_ONE
REFUSED = (TypeError, ValueError, ArithmeticError, AttributeError, LookupError)


class Sub(float):
    """A number that says another one of itself."""

    def as_integer_ratio(self):
        return 1, 2**30


def odd_values():
    """Return new ones: an array may be altered by whoever made it."""
    numbers = (-1, -1.2499999, 0, 1.5, 1e300, 5e-324, 2**70, -1e300, math.nan, math.inf)
    arrays = (np.array(0.5), np.zeros(0), np.zeros(3), np.full(3, 1e300), np.ones((2, 3)))
    return (*numbers, True, Sub(0.5), "odd", None, (), *arrays)


def part(place):
    module, name = place.split(":")
    return getattr(import_module(module), name)


def tables(relation):
    """Return tables of few rows, of which each is a neighbour of the next."""
    X = np.array([[0.5, 0.2, 0.5], [-0.7, 0.1, 0.5], [0.1, -0.9, 0.5], [1.9, 0.0, 0.5]])
    y = np.array([1.0, -1.0, 1.0, 1.0])
    if relation is ADD:
        taken = [(X[:k], y[:k]) for k in (4, 3, 2)]
        taken += [(X[3:], y[3:]), (X[:0], y[:0])]
        pairs = [*pairwise(taken[:3]), (taken[3], taken[4])]
    else:
        other = X.copy()
        other[3] = [-1.9, 0.0, 0.5]
        pairs = [((X, y), (other, y)), ((X, y), (other, -y * [-1, -1, -1, 1]))]
    return [tuple(Rows(X, y).table() for X, y in pair) for pair in pairs]


def slope(z, y, parameters):
    return -y if y * z < 1.0 else 0.0


def curve(z, y, parameters):
    return 1.0


def first(x, y, parameters, out):
    out[0] = x[0]


def samples(relation):
    """Yield a part of each class as a run builds it. A part within it is tried too."""
    rows = Rows(np.zeros((4, 3)), np.ones(4))
    p = make_problem(rows, relation, Logistic(), l2=0.5, n0=4)
    p = dataclasses.replace(p, intercept=True, numbers=(0, 1))
    sq, zero = dataclasses.replace(p, loss=Squared()), np.zeros(3)
    a, b = "dpcore_accuracy_first.", "dpcore_baselines."
    ball, gram = (
        part(f"{a}objectives.public_ball:PublicBall").of(sq),
        part(f"{a}queries.gram:GramMatrix")(sq),
    )
    up = np.array([0.5, -0.25, 0.5])
    std = part(f"{b}queries.standardization:Standardization")
    own, alike = (std(np.array([64, s, 64]), np.array([t, 0, 0]), 2) for s, t in ((0, 3), (0, 0)))
    yield from (
        RowCount(),
        ClippedGradientSum(p, up, 0.5),
        CoefficientSum(p, up, RowFunction.coefficient(slope), 0.5),
    )
    yield ContributionSum(p, RowFunction.contribution(first), 1, 0.5)
    yield part(f"{a}queries.weighted_gram:WeightedGram")(p, up, RowFunction.weight(curve), 0.5)
    yield from (gram, part(f"{a}objectives.in_l2:GramInL2")(sq))
    ours = part(f"{a}objectives.public_ball:PublicBall").of(p)
    asked = part(f"{a}objectives.loss_sum:ObjectiveSum")(p, up, ours)
    yield from (asked, part(f"{a}objectives.loss_sum:ErrorCount")(p, up))
    number = part(f"{a}brownian_noise.revealed:NumberInL2")
    yield number(part(f"{a}objectives.quadratic:QuadraticObjective")(gram, sq, ball, up))
    least = part(f"{a}objectives.quadratic:MinimumQuadratic")(gram, sq, ball)
    yield part(f"{a}objectives.excess:Excess")(
        part(f"{a}objectives.quadratic:QuadraticObjective")(gram, sq, ball, zero), least, gram
    )
    level, sizes = part("dpcore_adassp.level:Level"), part("dpcore_adassp.sizes:RowSizes")
    row_map = part("dpcore_adassp.row_map:RowMap").of(p)
    products = part("dpcore_adassp.products:Products")(sq, row_map, 1.0)
    yield from (level(p, columns=True), level(p, squares=True), sizes(sq, row_map), products)
    yield part("dpcore_adassp.products:Products")(sq, row_map, 1.0, 1.0, "targets", up)
    yield part("dpcore_adassp.smallest_eigenvalue:SmallestEigenvalue")(products)
    yield part("dpcore_adassp.spreads:Spreads")(p, (0.5, 0.5))
    yield part(f"{b}queries.standardized:StandardizedGradientSum")(p, up, own, 0.5)
    yield part(f"{b}queries.moments:ColumnMoments")(p, 0.5, counted=alike)
    yield part(f"{b}queries.kept_columns:KeptColumns")(
        part(f"{b}queries.moments:ColumnMoments")(p, 0.5, counted=alike), (0, 1)
    )
    yield part(f"{b}descent.sizes:ColumnSizes")((0, 1))
    yield part(f"{b}calibration.labelled_scores:LabelledScores")(p, up)
    yield part(f"{b}calibration.positive_rows:PositiveRows")(p, up)
    three = (
        dataclasses.replace(p, loss=Settings(loss="softmax").make_loss(), n_margins=3),
        np.stack([zero, up, -up]),
    )
    yield part(f"{b}calibration.paired_scores:PairedScores")(*three)
    yield part(f"{b}scores:ClippedLossScores")(p, np.stack([zero, up]), 1.0, True)
    statistics = "dpcore_tables.statistics."
    number = part(f"{statistics}columns:NumericColumn")(0, 0.0, 1.0)
    levels = part(f"{statistics}categorical_column:CategoricalColumn")
    histogram = part(f"{statistics}histogram:Histogram")
    yield from (histogram(levels((), (0, 1))), histogram(levels((0, 1), ("a", "b"))))
    two = histogram(levels((), (0, 1))), histogram(levels((0, 1), ("a", "b")))
    yield part(f"{statistics}histogram:TwoWayTable")(*two)
    yield from (histogram(number, (0.0, 0.5, 1.0)), part(f"{statistics}unit_count:UnitCount")())
    yield part(f"{statistics}numeric_sums:NumericSums")((number,), True)
    yield part(f"{statistics}quantile:QuantileScores")(number, 0.5, (0.25, 0.5))
    yield part(f"{statistics}quantile:RankCounts")(number, (3, 9))
    report = "dpcore_report."
    groups = part(f"{report}evaluation.groups:Groups")("", (0, 1), ("a", "b", "others"))
    yield part(f"{report}evaluation.group_counts:GroupCounts")(p, up, groups=groups)
    yield part(f"{report}evaluation.group_counts:GroupMoments")(p, up, groups=groups)
    yield part(f"{report}evaluation.prediction_moments:PredictionMoments")(p, up)
    yield part(f"{report}evaluation.score_counts:ScoreCounts")(p, up)
    centring = part(f"{report}intervals.centring:Centring")(own, 1.25, 0.5)
    yield part(f"{report}intervals.row_products:RowProducts")(p, up, "slope", centring=centring)
    yield part("dpcore_tuning.scores:HeldOutLosses")(p, (up,), "loss", "linf")
    yield part("dpcore_dp_agd.loss_line:ClippedLossLine")(p, zero, up, np.array([0.0, 0.5]), 1.0)
    yield part("dpcore_a_ddp.record_gradient:RecordGradientSum")(p, up, 0.5, 12)
    hessian_of = part("dpcore_newton.hessian:HessianSum")
    hessian = hessian_of(p, up, RowFunction.weight(curve), 0.5, standardization=own)
    yield from (hessian, part("dpcore_newton.hessian:HessianTrace")(hessian))
    for change in ("add", "clip"):
        yield part("dpcore_newton.direction:NewtonDirection")(hessian, up, 0.5, change)
    yield part("dpcore_frank_wolfe.vertex_scores:VertexScores")(p, 2.0, 0.5, np.array([0, 4]))


def solvers(relation):
    """Yield the parts whose answers take longest, and those over a sample or in an order."""
    rows = Rows(np.zeros((4, 3)), np.ones(4))
    p = make_problem(rows, relation, Logistic(), l2=0.5, n0=4)
    a, b = "dpcore_accuracy_first.objectives.", "dpcore_baselines.perturbation."
    least = part(f"{a}minimizer:Minimizer")(p)
    yield from (
        least,
        part(f"{a}in_l2:MinimizerInL2")(p),
        part(f"{a}minimizer:MinimumObjective")(least),
    )
    yield part(f"{b}bounded:BoundedMinimizer")(p, 1.0)
    yield part(f"{b}perturbed:PerturbedMinimizer")(p, 1.0, 1.0)
    if relation is REPLACE:
        schedule = part("dpcore_rsgd_ar.schedule:Schedule")(4, 2, np.array([0.5, 0.25]))
        yield part("dpcore_rsgd_ar.sgd_pass:SgdPass")(p, schedule, 20)


def others():
    """Yield parts whose answers are those of a part that they hold, or are no sums."""
    rows = Rows(np.zeros((4, 3)), np.ones(4), units=np.arange(4))
    p = make_problem(rows, ADD, Logistic(), l2=0.5)
    query, asked = ClippedGradientSum(p, np.zeros(3), 0.5), Sensitivity("l2", 1.0, ADD, 20)
    sample = part("dpcore_accounting.samples:PoissonSample")(query, 0.5)
    fixed = part("dpcore_a_ddp.fixed_size_sample:FixedSizeSample")(query, 2, 4)
    yield from (sample, fixed, part("dpcore_dp_agd.batch:Batch")(query, 0.5))
    yield part("dpcore_a_ddp.unamplified:Unamplified")(sample)
    std = part("dpcore_baselines.queries.standardization:Standardization")
    own = std(np.full(3, 64), np.array([3, 0, 0]), 2)
    units = dataclasses.replace(p, rows_per_unit=2)
    unit_sum = part("dpcore_baselines.queries.unit_gradient:UnitGradientSum")
    yield unit_sum(units, np.zeros(3), own, 0.5)
    of_units = part("dpcore_baselines.queries.kept_columns:KeptColumnsOfUnits")
    yield of_units(unit_sum(units, np.zeros(3), own, 0.5), (0, 1))
    brownian, base = "dpcore_accuracy_first.brownian_noise.", RowCount("l2")
    yield part(f"{brownian}mechanism:Brownian")(base, (0.5, 1.0), 1e-6, asked)
    walk = part(f"{brownian}threshold:ReducedAboveThreshold")
    yield walk(base, (0.5, 1.0), 1e-6, (1.0, 1.0), 0.4, (0.0, 0.0), asked)
    reduction = part("dpcore_accuracy_first.noise_chain.mechanism:NoiseReduction")
    yield reduction(RowCount("l1"), (0.5, 1.0), 0.5, 1.0, asked)
    yield part("dpcore_accounting.distributions.continuous_distribution:ContinuousDistribution")(
        (("normal", 1.0),)
    )
    ridge = make_problem(Rows(np.zeros((4, 3)), np.ones(4)), ADD, Squared())
    models = part("dpcore_tukey.part_models:PartModels")(ridge, 9)
    yield part("dpcore_tukey.kendall_scores:KendallScores")(ridge, (0,))
    yield part("dpcore_tukey.propose_test_release:ProposeTestRelease")(models, 1.0, 0.1, 0.5, 2)
    yield part("dpcore_tables.weights.sample_weighted:SampleWeighted")(Logistic(), 2.0)


def losses():
    yield from (Logistic(), Squared())
    baselines, weights = "dpcore_baselines.losses.", "dpcore_tables.weights."
    yield part("dpcore_counts.poisson:Poisson")()
    yield part("dpcore_counts.gamma:Gamma")()
    yield part(f"{baselines}hinge:HingeSvm")()
    yield part(f"{baselines}huber:HuberSvm")()
    yield part(f"{baselines}quantile:Quantile")(0.25, 0.5)
    yield part("dpcore_counts.negative_binomial:NegativeBinomial")()
    yield part(f"{weights}class_weighted:ClassWeighted")(Logistic(), (2.0, 0.5))


def mechanisms():
    yield from (Gaussian(8.0), Laplace(8.0), part("dpcore.mechanisms.geometric:Geometric")(8.0))
    distributions, selections = "dpcore_accounting.distributions.", "dpcore_accounting.selections."
    distribution = part(f"{distributions}integer_distribution:IntegerDistribution")(-1, (1, 2, 1))
    yield from (
        part(f"{distributions}table_noise:TableNoise")(distribution, 1),
        part(f"{distributions}noisy_maximum:TableMaximum")(distribution, 2),
    )
    yield part(f"{selections}exponential:Exponential")(8.0)
    yield part("dpcore_frank_wolfe.grouped_exponential:GroupedExponential")(8.0)
    yield part(f"{selections}permute_and_flip:PermuteAndFlip")(8.0)
    yield part(f"{selections}report_noisy_max:ReportNoisyMax")(8.0)
    yield part("dpcore_baselines.perturbation.approximate_minima:ApproximateMinima")(8.0)
    yield part("dpcore_a_ddp.skellam_noise.mechanism:Skellam")(8.0)
    yield part("dpcore_a_ddp.skellam_noise.share:SkellamShare")(8.0)


def answer(query, table):
    """Return the exact answer in whole steps, as Python's ints."""
    with np.errstate(all="ignore"):
        if hasattr(query, "answer_table"):
            found = query.answer_table(table, SeededNoise(1))
        elif hasattr(query, "derive"):
            found = query.derive(lambda asked: answer(asked, table), SeededNoise(1))
        else:
            found = LocalEngine(table, threads=1).answer(query)
    return found


def size(steps, norm):
    if norm == "linf":
        return max(map(abs, steps))
    return sum(map(abs, steps)) if norm == "l1" else math.sqrt(sum(s * s for s in steps))


def moved_over(query, relation):
    """Return how far an answer moves over its sensitivity, the most of all pairs of tables; whether
    it raises must not depend on a row."""
    stated, worst = query.sensitivity(relation), 0.0
    for pair in tables_of(relation):
        found = [outcome(query, table) for table in pair]
        assert len({type(each) for each in found}) == 1, found
        if isinstance(found[0], np.ndarray) and found[0].size:
            steps = [int(a) - int(b) for a, b in zip(*map(np.ravel, found), strict=True)]
            move = math.ldexp(size(steps, stated.norm), -stated.grid_bits)
            worst = max(worst, move / stated.bound)
            if stated.change_range is not None:
                apart = math.ldexp(max(steps) - min(steps), -stated.grid_bits)
                worst = max(worst, apart / stated.change_range)
    return worst


def outcome(query, table):
    try:
        return answer(query, table)
    except Exception as error:
        return error


tables_of = cache(tables)


def variants(whole):
    """Yield the fields of a part and of all parts that it holds, each as a path and the part
    itself with an odd value there."""
    for field in dataclasses.fields(whole):
        if not field.init:
            continue
        held = getattr(whole, field.name)
        for value in odd_values():
            yield (
                f"{type(whole).__name__}.{field.name}={value!r}",
                rebuilt(whole, field.name, value),
            )
        inner = held if isinstance(held, tuple) else (held,)
        for place, each in enumerate(inner):
            # The public facts are held to the run's, and tried in one part alone.
            if dataclasses.is_dataclass(each) and type(each).__name__ != "Problem":
                for path, make in variants(each):
                    yield path, within(whole, field.name, held, place, make)


def rebuilt(whole, name, value):
    def made():
        fields = {f.name: getattr(whole, f.name) for f in dataclasses.fields(whole) if f.init}
        return type(whole)(**{**fields, name: value})

    return made


def within(whole, name, held, place, make):
    def made():
        one = make()
        value = (*held[:place], one, *held[place + 1 :]) if isinstance(held, tuple) else one
        return rebuilt(whole, name, value)()

    return made


def survivors(whole):
    """Yield what is not refused of a part's variants, as a session has it."""
    for path, make in variants(whole):
        try:
            yield path, private_copy(make())
        except REFUSED:
            continue


def hold(wholes, relation):
    """Assert that no variant of these moves by more than it states, but for those refused."""
    for whole in wholes:
        assert moved_over(whole, relation) <= 1, whole
        for path, query in survivors(whole):
            require_plain(query)
            try:
                query.sensitivity(relation)
            except REFUSED:
                continue
            assert moved_over(query, relation) <= 1, path


def require_plain(whole):
    """Assert that the fields of a session's copy are what their classes state."""
    for field in dataclasses.fields(whole) if dataclasses.is_dataclass(whole) else ():
        stated = getattr(field.type, "__name__", str(field.type))
        held, kind = getattr(whole, field.name), KINDS.get(stated.removesuffix(" | None"))
        if kind is not None and not (held is None and stated.endswith("None")):
            assert type(held) is kind, (whole, field.name)
        assert not (type(held) is np.ndarray and held.flags.writeable), (whole, field.name)
        require_plain(held)


KINDS = {"bool": bool, "int": int, "float": float}


@pytest.mark.slow
@pytest.mark.parametrize("relation", [ADD, REPLACE])
def test_odd_fields_are_refused_or_change_no_guarantee(relation):
    with np.errstate(all="ignore"):
        hold(samples(relation), relation)


@pytest.mark.slow
@pytest.mark.parametrize("relation", [ADD, REPLACE])
def test_odd_fields_of_solvers_are_refused_or_change_no_guarantee(relation):
    with np.errstate(all="ignore"):
        hold(solvers(relation), relation)


class Careless(part("dpcore_adassp.level:Level")):  # type: ignore[misc]
    """Takes its flags for numbers."""

    def __post_init__(self):
        pass


def test_a_flag_that_is_a_number_is_caught():
    whole = next(each for each in samples(ADD) if type(each).__name__ == "Level")
    twin = Careless(whole.problem, columns=-2.99)
    with np.errstate(all="ignore"):
        assert moved_over(twin, ADD) > 5 and twin.columns == -2.99
        assert private_copy(type(whole)(whole.problem, columns=-2.99)).columns is True


def forced(name, relation, of="", **fields):
    """Return a part of ``samples``, of the class ``of`` if that is given, in which one that it
    holds, or itself, has fields that its class refuses: what its author makes of it afterwards."""
    wholes = [each for each in samples(relation) if of in ("", type(each).__name__)]
    pairs = [(whole, within) for whole in wholes for within in held_by(whole)]
    whole, within = next((w, each) for w, each in pairs if type(each).__name__ == name)
    for key, value in fields.items():
        object.__setattr__(within, key, value)
    return whole


@pytest.mark.parametrize(
    ("name", "fields"),
    [
        ("PublicBall", {"radius": -1.0009}),
        ("Groups", {"names": ("only",)}),
        ("CategoricalColumn", {"levels": ()}),
        ("Centring", {"row_norm": -0.01}),
        ("Standardization", {"shifts": np.array([-(2**63), 0, 0])}),
    ],
)
def test_what_is_put_into_a_part_after_it_was_made_is_refused_as_well(name, fields):
    with pytest.raises(InvalidInputError, match="Expected"):
        private_copy(forced(name, ADD, **fields))


@pytest.mark.parametrize("name", ["Groups", "CategoricalColumn"])
def test_an_error_that_tells_of_a_row_is_caught(name):
    fields = {"Groups": {"names": ()}, "CategoricalColumn": {"levels": ()}}[name]
    with pytest.raises(AssertionError, match="ValueError|AnswerError"):
        moved_over(forced(name, ADD, **fields), ADD)


def test_a_ball_of_a_negative_radius_is_caught():
    far, near = (forced("PublicBall", REPLACE, "NumberInL2", radius=r) for r in (0.66, -0.66))
    assert moved_over(far, REPLACE) <= 1 < moved_over(near, REPLACE)


def test_a_quadratic_objective_is_of_squared_loss():
    weighted = part("dpcore_tables.weights.class_weighted:ClassWeighted")
    least = next(
        p for w in samples(ADD) for p in held_by(w) if type(p).__name__ == "MinimumQuadratic"
    )
    for loss in (Logistic(), weighted(Logistic(), (2.0**-20, 2.0**-20))):
        problem = dataclasses.replace(least.problem, loss=loss)
        with pytest.raises(InvalidInputError, match="that of squared loss alone"):
            type(least)(least.gram, problem, least.ball)


def test_the_facts_of_a_loss_are_no_loss():
    # They say of themselves what they are given: a Lipschitz constant near 0 with any slopes.
    facts = dataclasses.replace(LossFacts.of(Logistic()), lipschitz=2.0**-30)
    query = ClippedGradientSum(dataclasses.replace(problem_of(ADD), loss=facts), np.zeros(3), 0.5)
    with pytest.raises(InvalidInputError, match="LossFacts is not dpcore's own"):
        released(query)


def test_an_array_that_its_author_alters_between_charge_and_answer_alters_nothing():
    minimizer = part("dpcore_baselines.perturbation.bounded:BoundedMinimizer")
    numbers, points = np.array(2.0**40), np.zeros((2, 3))
    held = private_copy(minimizer(problem_of(ADD), numbers))
    other = private_copy(Holds(points, [points]))
    numbers[...], points[...] = 1.0, 7.0
    assert held.regularisation == 2.0**40 and type(held.regularisation) is float
    assert not other.of.any() and not other.within[0].any() and not other.of.flags.writeable


@sealed
@dataclasses.dataclass(frozen=True)
class Holds:
    of: object
    within: object


def problem_of(relation):
    rows = Rows(np.zeros((4, 3)), np.ones(4))
    return make_problem(rows, relation, Logistic(), l2=0.5, n0=4)


def released(query):
    engine = LocalEngine(tables(ADD)[0][0], threads=1)
    accountant = load_registry().load("accountant", "zcdp").from_budget(1.0, 1e-6)
    session = TableSession(engine, accountant, ADD, SeededNoise(0), problem=problem_of(ADD))
    return session.release(query, Gaussian(100.0))


@pytest.mark.slow
def test_odd_fields_of_losses_and_mechanisms_are_refused_or_state_what_is_so():
    z, y = np.linspace(-8.0, 8.0, 65), np.where(np.arange(65) % 2, 1.0, -1.0)
    for loss in losses():
        for path, held in (("", loss), *survivors(loss)):
            facts, slopes = LossFacts.of(held), np.empty(65)
            facts.dvalue(z, y, slopes)
            require_plain(held)
            assert np.abs(slopes).max() <= facts.lipschitz, path
    for whole in others():
        for _, held in survivors(whole):
            require_plain(held)
    bound = Sensitivity("l2", 1.0, ADD, 4)
    for mechanism in mechanisms():
        for path, held in survivors(mechanism):
            require_plain(held)
            for norm in ("l1", "l2", "linf"):
                try:
                    charged = held.event(dataclasses.replace(bound, norm=norm, change_range=1.0))
                except REFUSED:
                    continue
                assert charged is not None, path


def test_every_part_of_ours_that_acts_on_rows_is_tried():
    tried = set()
    for relation in (ADD, REPLACE):
        rest = (*losses(), *mechanisms(), *others())
        for whole in (*samples(relation), *solvers(relation), *rest):
            tried |= {type(each).__qualname__ for each in held_by(whole)}
    known = {name for name in sealed_dataclasses() if not name.startswith("Published")}
    assert known - tried == {*UNTRIED}, (known - tried) ^ {*UNTRIED}


UNTRIED = {
    **dict.fromkeys(
        ("AddedDeviates", "NoisyMaximum", "HeldOutSums", "PureNoise", "ScaledNoise"), "a base"
    ),
    **dict.fromkeys(("BinCounts", "CellCounts"), "asks blocks of cells as they are in a file"),
    **dict.fromkeys(("Exact", "ExactFit", "MajorityModel"), "promises no privacy"),
    **dict.fromkeys(("PerturbedSensitivity", "RandomizedSensitivity"), "an answer's, held by none"),
    "GradientSum": "has no sensitivity of its own",
    "RadialPenalty": "made by a solver, held by no part",
    "_Replayed": "says what was recorded before",
}
"""Classes that are not tried, and why. Those of algorithms as published promise nothing."""


def held_by(whole):
    """Yield a part and the parts that it holds."""
    if isinstance(whole, tuple):
        for each in whole:
            yield from held_by(each)
    elif dataclasses.is_dataclass(whole):
        yield whole
        for field in dataclasses.fields(whole):
            yield from held_by(getattr(whole, field.name))


def sealed_dataclasses():
    """Yield the names of all of them in the core and the packages, bases that are none aside."""
    for path in (*ROOT.glob("dpcore/**/*.py"), *ROOT.glob("plugins/*/dpcore_*/**/*.py")):
        text = path.read_text()
        for node in ast.walk(ast.parse(text if "@sealed" in text else "")):
            if isinstance(node, ast.ClassDef):
                names = {ast.unparse(each).partition("(")[0] for each in node.decorator_list}
                if names >= {"sealed", "dataclass"}:
                    yield node.name
