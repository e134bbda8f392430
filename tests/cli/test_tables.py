"""Names in tables of the terminal are text, whatever they are."""

from dpcore_accounting.commands.printing import print_table


def test_names_are_neither_markup_nor_control_characters(capsys):
    names = ["no[/i]", "[red]yes", "a\x1b]0;title\x07b"]
    print_table("of 'no[/i]' and [b]", names, [names])
    shown = capsys.readouterr().out
    assert "of 'no[/i]' and [b]" in shown and "\x1b" not in shown
    assert all(shown.count(name) >= 2 for name in (*names[:2], r"a\x1b]0;title\x07b"))
