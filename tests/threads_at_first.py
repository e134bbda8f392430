"""What a process was told of threads when this module was loaded."""

import os

from dpcore.engines.spawned import ONE_THREAD

AT_FIRST = [os.environ.get(name, "") for name in ONE_THREAD]


def note(folder):
    with open(os.path.join(folder, "told"), "w") as file:
        file.write(" ".join(AT_FIRST))
