"""A plugin whose hook registers a name and then raises."""

from dpcore.plugin import hookimpl


@hookimpl
def register_optimizers(register):
    register("half-done", "bad_raising_hook:HalfDone", summary="Never seen.")
    raise RuntimeError("the hook\nbroke")
