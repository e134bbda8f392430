"""``dpcore check``: a line for each check, and an exit status."""

import pytest


@pytest.mark.parametrize("ok", [True, False])
def test_check_prints_a_line_each(run, monkeypatch, ok):
    results = [("check_first", True, ""), ("check_second", ok, "" if ok else "it leaks")]
    monkeypatch.setattr("dpcore.testing.run_checks", lambda optimizer: results)
    result = run("check", "stub")
    assert result.exit_code == (0 if ok else 1)
    lines = result.stdout.splitlines()
    assert lines[0] == "ok      check_first"
    assert lines[1] == ("ok      check_second" if ok else "FAILED  check_second: it leaks")


def test_check_of_an_unknown_name(run):
    result = run("check", "stubb")
    assert result.exit_code == 2 and "Did you mean stub" in result.stderr
