"""A refusal of the command line: one line, status 2, and no file that was not there."""


def refused(result, text, folder, before):
    assert result.exit_code == 2, result.stdout
    assert result.stdout == ""
    lines = result.stderr.splitlines()
    assert len(lines) == 1 and lines[0].startswith("dpcore: "), result.stderr
    assert text in lines[0]
    assert "Traceback" not in result.stderr
    assert sorted(folder.iterdir()) == before
