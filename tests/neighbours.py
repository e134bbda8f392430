"""Fits of neighbouring tables with equal releases, and all that they hand out."""

from dataclasses import replace

from traces import ASKED, Replay, differences, of_objects

from dpcore import fit
from dpcore.plugin import Settings
from dpcore.plugin.commands import DataRequest, Run, make_plan


def handed_out(model, **others):
    """Return all that is at hand after a fit, without the time that it took."""
    report = {key: value for key, value in model.report.items() if key != "seconds"}
    model = replace(model, report=report)
    return {"model": model, "report": report, "schema": model.schema, **others}


def fitted(rows, schema=None, y=None, **asked):
    model = fit(rows, y, schema=schema, **(ASKED | asked))
    return handed_out(model, given=schema, statement=model.privacy)


def trained(path, schema):
    """Return what there is after a run that drops bad rows."""
    training = Run.train(
        make_plan(Settings(**ASKED)), DataRequest(str(path), schema, bad_rows="drop")
    )
    return handed_out(training.model, given=schema, facts=training.facts)


def assert_alike(of_table, *of_neighbours):
    """Assert that functions of no arguments hand out the same with the same releases."""
    replay = Replay()
    with replay.run():
        expected = of_objects(of_table())
    for of_neighbour in of_neighbours:
        with replay.run():
            assert differences(expected, of_objects(of_neighbour())) == []
