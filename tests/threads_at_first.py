"""What a process was told when this module was loaded."""

import os

AT_FIRST = dict(os.environ)


def note(folder, names):
    with open(os.path.join(folder, "told"), "w") as file:
        file.write(" ".join(AT_FIRST.get(name, "") for name in names))
