"""A plugin that takes the name of a built-in part, and has a good name beside it."""

from dpcore.plugin import hookimpl


@hookimpl
def register_mechanisms(register):
    register("gaussian", "bad_taken_name:Gaussian", summary="Not the one you think.")
    register("its-own", "bad_taken_name:Gaussian", summary="A name of its own.")


class Gaussian:
    """Nothing."""
