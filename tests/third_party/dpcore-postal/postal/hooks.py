"""What dpcore is told of this distribution: names and targets, nothing that is heavy to import."""

from dpcore.plugin import hookimpl


@hookimpl
def register_column_kinds(register):
    register(
        "postal-code",
        "postal.kinds:POSTAL",
        summary="a Swiss postal code by its first two digits, one-hot",
    )
    register("clock", "postal.kinds:CLOCK", summary="a time of the day, from 00:00 to 23:59")
