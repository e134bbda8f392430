"""The file of users: what is wrong with it is told by file, line and column."""

import pytest

from dpcore.errors import DataError, InvalidInputError
from dpcore_a_ddp.pools.users_file import alike_users, read_users
from dpcore_a_ddp.users.messages import User


def read(tmp_path, text, n_rows=30, rows_per_user=10):
    path = tmp_path / "users.csv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_users(path, n_rows, rows_per_user)


def test_users_with_and_without_rows(tmp_path):
    text = "user,epsilon,delta,rows\nann,1,1e-8,12\n\nbob,.5,1e-6,18\n"
    assert read(tmp_path, text) == (User("ann", 12, 1.0, 1e-8), User("bob", 18, 0.5, 1e-6))
    text = "\ufeffdelta, user, epsilon\r\n1e-8, ann, 1\r\n1e-8, bob, 2\r\n1e-8,cy,3\r\n"
    assert [user.n_rows for user in read(tmp_path, text)] == [10, 10, 10]


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("", "line 1: no column 'user'"),
        ("user,epsilon\na,1\n", "line 1: no column 'delta'"),
        ("user,epsilon,delta,size\na,1,1e-8,3\n", "line 1: unknown or repeated column 'size'"),
        ("user,epsilon,delta,delta\na,1,1e-8,1e-8\n", "unknown or repeated column 'delta'"),
        ("user,epsilon,delta\n", "has no users"),
        ("user,epsilon,delta\na,1\n", "line 2: 2 cells, not 3"),
        ("user,epsilon,delta\n,1,1e-8\n", "line 2, column user: no name"),
        ("user,epsilon,delta\na,0,1e-8\n", "line 2, column epsilon: expected epsilon > 0"),
        ("user,epsilon,delta\na,1,1e-8\nb,-1,1e-8\n", "line 3, column epsilon"),
        ("user,epsilon,delta\na,nan,1e-8\n", "line 2, column epsilon: expected a finite number"),
        ("user,epsilon,delta\na,inf,1e-8\n", "column epsilon: expected a finite number"),
        ("user,epsilon,delta\na,1,0\n", "line 2, column delta: expected 0 < delta < 1"),
        ("user,epsilon,delta\na,1,1\n", "column delta"),
        ("user,epsilon,delta\na,1,x\n", "column delta: expected a finite number, not 'x'"),
        ("user,epsilon,delta\na,1,1e-8\na,2,1e-8\n", "line 3, column user: 'a' is there twice"),
        ("user,epsilon,delta,rows\na,1,1e-8,0\n", "line 2, column rows: a user has a whole"),
        ("user,epsilon,delta,rows\na,1,1e-8,-3\n", "column rows"),
        ("user,epsilon,delta,rows\na,1,1e-8,2.5\n", "column rows"),
        ("user,epsilon,delta,rows\na,1,1e-8,\n", "column rows"),
        (f"user,epsilon,delta,rows\na,1,1e-8,{'9' * 5000}\n", "column rows"),
        (f"user,epsilon,delta,rows\na,1,1e-8,{'0' * 19}1{'0' * 5000}\n", "column rows"),
        (f"user,epsilon,delta,rows\na,1,1e-8,{2**40}\n", "column rows"),
        (b"user,epsilon,delta\n\xff,1,1e-8\n", "no CSV file in UTF-8"),
        ('user,epsilon,delta\n"a,1,1e-8\n', "no CSV file in UTF-8"),
        ('user,epsilon,delta\n"a,\nb",1,1e-8\nc,0,1\n', "line 4, column epsilon"),
    ],
)
def test_what_is_wrong_is_told_by_line_and_column(tmp_path, text, match):
    with pytest.raises(DataError, match=match):
        read(tmp_path, text)


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(DataError, match="Cannot read"):
        read_users(tmp_path / "none.csv", 3, 1)


def test_users_have_to_own_all_rows(tmp_path):
    with pytest.raises(InvalidInputError, match="own 10 rows, and the data have 30"):
        read(tmp_path, "user,epsilon,delta\na,1,1e-8\n")


def test_leading_zeros_are_none(tmp_path):
    text = f"user,epsilon,delta,rows\na,1,1e-8,{'0' * 5000}30\n"
    assert [user.n_rows for user in read(tmp_path, text)] == [30]


def test_a_user_more_is_looked_at_as_often_as_any_other(tmp_path, monkeypatch):
    """32,000 users took 25 s of CPU time: the names of all before were taken for each."""
    looked = []

    class Counted(User):
        def __getattribute__(self, name):
            looked.append(name)
            return super().__getattribute__(name)

    monkeypatch.setattr("dpcore_a_ddp.pools.users_file.User", Counted)
    counts = []
    for n in (100, 200, 400):
        text = "user,epsilon,delta\n" + "".join(f"u{i},1,1e-8\n" for i in range(n))
        looked.clear()
        assert len(read(tmp_path, text, 10 * n)) == n
        counts.append(len(looked) / n)
    assert counts[0] == counts[1] == counts[2]


def test_users_of_one_budget_and_what_is_left():
    users = alike_users(23, 10, 1.0, 1e-8)
    assert [user.n_rows for user in users] == [10, 10, 3]
    assert [user.n_rows for user in alike_users(20, 10, 1.0, 1e-8)] == [10, 10]
    assert len({user.name for user in users}) == 3
