"""What a forked child is told."""

import os

from dpcore.errors import InvalidInputError


def refusal_in_a_child(call):
    """Return the text of the InvalidInputError that a call raises in a forked child, or ""."""
    reading, writing = os.pipe()
    if not (child := os.fork()):
        try:
            call()
        except InvalidInputError as error:
            os.write(writing, str(error).encode())
        os._exit(0)
    os.waitpid(child, 0)
    os.close(writing)
    with os.fdopen(reading) as told:
        return told.read()
