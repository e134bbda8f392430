"""A plugin whose hook is misspelt."""

from dpcore.plugin import hookimpl


@hookimpl
def register_optimisers(register):
    register("spelt", "bad_misspelt_hook:Spelt", summary="Never seen.")
