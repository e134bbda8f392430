"""A user's own side: settings, debit before draw, and one answer to a round whatever happens."""

import dataclasses
import json
from contextlib import closing

import numpy as np
import pytest

from dpcore import Schema
from dpcore.errors import DataError, DpcoreError, InvalidInputError
from dpcore.plugin.parts import Dataset, LocalEngine, Logistic, load_registry
from dpcore_a_ddp.flower.member import Member, answer, opened_session
from dpcore_a_ddp.flower.wire import Question, pack_question, unpack_answer
from dpcore_a_ddp.pools.round_ledger import FileLedger
from dpcore_a_ddp.pools.user_budgets import Filters, rounds_of_users, rounds_within
from dpcore_a_ddp.pools.user_session import UserSession
from dpcore_a_ddp.users.messages import Declined, Reply, User


def ask(own_file, rules, index, w=None):
    w = np.zeros(rules.n_features) if w is None else w
    return answer(Member.read(own_file), pack_question(Question(rules, index, w)))


def ledger_lines(own_file):
    ledger = (own_file.parent / "ledger.jsonl").read_text()
    return [json.loads(line) for line in ledger.splitlines()]


def rewrite(own_file, old, new):
    text = own_file.read_text()
    assert old in text
    own_file.write_text(text.replace(old, new))


def test_settings_are_paths_beside_the_file(own_files):
    member = Member.read(own_files[1])
    assert (member.user, member.epsilon, member.delta) == ("ben", 8.0, 1e-6)
    assert member.data == str(own_files[1].parent / "rows.csv")


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("epsilon = 2.0", "", "'epsilon' is missing"),
        ("epsilon = 2.0", 'epsilon = "2"', "'epsilon' is of another kind"),
        ("epsilon = 2.0", "epsilon = true", "'epsilon' is of another kind"),
        ("seed", "noise", "'noise' is new"),
        ('user = "anna"', "user = anna", "no TOML file"),
    ],
)
def test_settings_that_are_not_whole_are_refused(own_files, old, new, said):
    rewrite(own_files[0], old, new)
    with pytest.raises(DataError, match=said):
        Member.read(own_files[0])


def test_a_round_is_debited_and_stored_before_the_answer_is_there(own_files, rules):
    reply = unpack_answer(ask(own_files[1], rules, 0))
    head, debit, stored = ledger_lines(own_files[1])
    assert head["user"] == "ben" and debit == {"debit": 0} and stored["reply"] == 0
    assert isinstance(reply, Reply) and reply.values.shape == (rules.n_features,)


def test_a_retry_gets_the_same_bytes_and_costs_nothing(own_files, rules):
    first = ask(own_files[1], rules, 0)
    before = ledger_lines(own_files[1])
    assert ask(own_files[1], rules, 0) == first
    assert ledger_lines(own_files[1]) == before


def test_a_run_that_starts_again_gets_no_gradient_of_other_parameters(own_files, rules):
    first = ask(own_files[1], rules, 0)
    before = ledger_lines(own_files[1])
    other = unpack_answer(ask(own_files[1], rules, 0, np.full(rules.n_features, 0.5)))
    assert isinstance(other, Declined) and "other parameters" in other.reason
    assert ask(own_files[1], rules, 0) == first and ledger_lines(own_files[1]) == before


def test_an_interruption_after_the_debit_loses_the_round_and_draws_nothing_again(
    own_files, rules, monkeypatch
):
    def interrupted(self, index, values, asked):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(FileLedger, "store", interrupted)
        with pytest.raises(KeyboardInterrupt):
            ask(own_files[1], rules, 0)
    lost = unpack_answer(ask(own_files[1], rules, 0))
    assert isinstance(lost, Declined)
    assert [line.get("debit") for line in ledger_lines(own_files[1])[1:]] == [0]
    assert isinstance(unpack_answer(ask(own_files[1], rules, 1)), Reply)


def test_a_budget_that_is_used_up_stays_so_in_the_next_process(own_files, rules):
    kinds = [type(unpack_answer(ask(own_files[0], rules, index))) for index in range(6)]
    joined = kinds.count(Reply)
    assert 0 < joined < 6 and kinds == [Reply] * joined + [Declined] * (6 - joined)
    assert len([line for line in ledger_lines(own_files[0]) if "debit" in line]) == joined


def test_a_process_for_each_round_sends_what_one_process_for_all_would(own_files, rules, users):
    from dpcore.plugin.parts import GdpAccountant, SeededNoise
    from dpcore_a_ddp.pools.user_session import user_seed

    member, user = Member.read(own_files[1]), users[1]
    whole = UserSession(
        user,
        Dataset.from_file(member.data, Schema.read(member.schema)),
        Logistic(),
        rules,
        GdpAccountant.from_budget(user.epsilon, user.delta),
        SeededNoise(user_seed(member.seed, user.name)),
    )
    for index in range(4):
        w = np.full(rules.n_features, index / 8)
        apart = unpack_answer(ask(own_files[1], rules, index, w))
        assert np.array_equal(apart.values, whole.answer(index, w).values)


def test_without_a_seed_no_two_users_of_the_same_rows_send_the_same(own_files, rules):
    sent = []
    for copy in range(2):
        own = own_files[1].parent / f"user-{copy}.toml"
        text = own_files[1].read_text().replace("ledger.jsonl", f"ledger-{copy}.jsonl")
        own.write_text("\n".join(line for line in text.split("\n") if "seed" not in line))
        sent.append(unpack_answer(ask(own, rules, 0)).values)
    # Each coordinate is one of some 2^20: three agree with probability 2^-60.
    assert not np.array_equal(*sent)


def test_other_rules_or_another_budget_do_not_get_the_ledger(own_files, rules):
    from dataclasses import replace

    ask(own_files[1], rules, 0)
    with pytest.raises(InvalidInputError, match="another user, of other rules"):
        ask(own_files[1], replace(rules, noise_multiplier=4.0), 1)
    rewrite(own_files[1], "epsilon = 8.0", "epsilon = 9.0")
    with pytest.raises(InvalidInputError, match="another\\s+budget"):
        ask(own_files[1], rules, 1)


@pytest.mark.parametrize(
    "change",
    [
        {"relation": "replace-special"},
        {"trust": "secure-aggregation", "threshold": 2},
        {"noise_multiplier": 0.0},
        {"as_published": True},
        {"row_norm": 1.0},
        {"n_features": 4},
    ],
)
def test_rules_that_promise_less_are_refused_and_leave_no_trace(own_files, rules, change):
    from dataclasses import replace

    other = replace(rules, **change)
    with pytest.raises(InvalidInputError):
        ask(own_files[1], other, 0)
    assert not (own_files[1].parent / "ledger.jsonl").exists()


def test_rows_of_units_are_refused_before_they_are_read(own_files, rules, monkeypatch):
    # They were charged one by one, and of each unit every process kept other rows.
    schema, ledger = (own_files[1].parent / name for name in ("schema.toml", "ledger.jsonl"))
    schema.write_text('unit = "id"\nrows_per_unit = 3\n' + schema.read_text())
    monkeypatch.setattr("dpcore_a_ddp.flower.member.Dataset.from_file", None)
    with pytest.raises(InvalidInputError, match="charged for one row, and unit='id' asks"):
        ask(own_files[1], rules, 0)
    assert not ledger.exists()


def test_two_processes_do_not_spend_one_ledger(own_files, rules):
    user = User("ben", 8, 8.0, 1e-6)
    with closing(FileLedger(own_files[1].parent / "ledger.jsonl", user, rules)):
        with pytest.raises(InvalidInputError, match="in use by another process"):
            ask(own_files[1], rules, 0)


@pytest.mark.parametrize("rows", ["a,b,y\n", "a,b,y\n.5,,yes\n", "a,b,y\n.5,.5\n"])
def test_a_user_with_no_rows_or_a_malformed_table_debits_nothing(own_files, rules, rows):
    (own_files[1].parent / "rows.csv").write_text(rows)
    with pytest.raises(DpcoreError):
        ask(own_files[1], rules, 0)
    ledger = own_files[1].parent / "ledger.jsonl"
    assert not ledger.exists() or not any("debit" in line for line in ledger_lines(own_files[1]))


def test_a_user_with_one_row_and_epsilon_0_is_refused_or_answers(own_files, rules):
    (own_files[1].parent / "rows.csv").write_text("a,b,y\n.5,.25,yes\n")
    assert isinstance(unpack_answer(ask(own_files[1], rules, 0)), Reply)
    rewrite(own_files[2], "epsilon = 8.0", "epsilon = 0.0")
    with pytest.raises(DpcoreError):
        ask(own_files[2], rules, 0)


def test_parameters_that_are_no_numbers_are_refused_before_the_debit(own_files, rules):
    for w in (np.array([np.nan, 0.0, 0.0]), np.array([np.inf, 0.0, 0.0]), np.zeros(2)):
        with pytest.raises(InvalidInputError):
            ask(own_files[1], rules, 0, w)
    assert not any("debit" in line for line in ledger_lines(own_files[1]))


def exact_gradients(own_file, rules, w):
    """Int64 of shape (n_rows, n_features): each row's clipped gradient, in steps of the grid."""
    member = Member.read(own_file)
    data = Dataset.from_file(member.data, Schema.read(member.schema))
    n_rows = int(data.X.shape[0])
    query = rules.gradient(Logistic(), w, n_rows)
    parts = [data.take(np.arange(n_rows) == i).table() for i in range(n_rows)]
    return np.array([LocalEngine(part, threads=1).answer(query) for part in parts])


def traces_of(exact, rules, content):
    """Every coordinate of every exact gradient that the bytes hold, in any usual form."""
    found = []
    for value in exact[exact != 0].tolist():
        real = value * 2.0**-rules.grid_bits
        forms = [np.array(value, kind).tobytes() for kind in ("<i8", ">i8", "<i4", ">i4")]
        forms += [np.array(real, kind).tobytes() for kind in ("<f8", ">f8", "<f4", ">f4")]
        forms += [str(value).encode(), repr(real).encode()]
        found += [value for form in forms if form in content]
    return found


def test_no_exact_gradient_is_in_the_bytes_that_leave(own_files, rules):
    w = np.array([0.25, -0.5, 0.125])
    exact = exact_gradients(own_files[1], rules, w)
    for index in range(3):
        sent = ask(own_files[1], rules, index, w)
        assert traces_of(exact, rules, sent) == []
        off = np.abs(unpack_answer(sent).values - exact) * 2.0**-rules.grid_bits
        # A deviate of the noise below 1e-5 sigma: 8e-6 for each of 8 x 3 x 3 coordinates, fixed
        # by the seed.
        assert off.min() > 1e-5 * rules.sigma


def test_a_user_that_forgets_its_noise_is_found_out(own_files, rules, monkeypatch):
    """The positive control of the test above."""
    from dpcore.plugin.parts import NoiseSource

    monkeypatch.setattr(NoiseSource, "gaussian", lambda self, scale, size: np.zeros(size, np.int64))
    w = np.array([0.25, -0.5, 0.125])
    assert traces_of(exact_gradients(own_files[1], rules, w), rules, ask(own_files[1], rules, 0, w))


@pytest.mark.parametrize("planned", [0, 20])
def test_a_filter_at_one_order_is_planned_for_the_rounds_of_the_rules(own_files, rules, planned):
    # As many rounds as the server's own count of them: at the order of the schedule, more of them.
    file = own_files[1]
    rewrite(file, 'accountant = "gdp"', 'accountant = "rdp"')
    rewrite(file, 'relation = "replace-one"', 'relation = "replace-special"')
    sampled = {"relation": "replace-special", "sampling": "poisson", "rate": 0.1, "amplified": True}
    rules = dataclasses.replace(rules, planned=planned, noise_multiplier=0.8, **sampled)
    ben = User("ben", 8, 8.0, 1e-6)
    filters = Filters(load_registry().load("accountant", "rdp").from_budget(8.0, 1e-6))
    if planned:
        filters.plan(rules.schedule(8))
    (limit,) = rounds_of_users([ben], rules, filters, 10**6)
    question = Question(rules, 0, np.zeros(rules.n_features))
    with opened_session(Member.read(file), question) as session:
        joined = 0
        while session.declines(joined) is None:
            assert isinstance(session.answer(joined, question.w), Reply)
            joined += 1
    assert joined == limit > 5
    found = filters(8.0, 1e-6)
    unplanned = rounds_within(type(found).from_budget(8.0, 1e-6), rules.event(8), 10**6)
    assert (limit > unplanned) == bool(planned)
