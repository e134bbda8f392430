"""Whole fits on made tables, and what is kept of a violation."""

import json
from dataclasses import replace

import numpy as np
import pytest

from dpcore.audit.fits import Fits, Request
from dpcore.audit.pairs import pairs_of
from dpcore.audit.recorded import releases_of
from dpcore.audit.saved import again, save
from dpcore.audit.two_world import audit_worlds
from dpcore.errors import InvalidInputError
from dpcore.privacy.sensitivity import NeighboringRelation
from dpcore.registry.catalogue import load_registry
from dpcore.registry.declarations import optimizer_facts

ADD, REPLACE = NeighboringRelation.ADD_OR_REMOVE_ONE, NeighboringRelation.REPLACE_ONE


@pytest.mark.parametrize("relation", list(NeighboringRelation))
@pytest.mark.parametrize("k", [1, 3])
def test_the_tables_of_a_pair_are_neighbours(relation, k):
    for pair in pairs_of(relation, (-1.0, 1.0), k):
        here, there = (np.column_stack((side.X, side.y)) for side in (pair.here, pair.there))
        common = min(len(here), len(there), 63)
        assert np.array_equal(here[:common], there[:common])
        sizes = sorted(len(rows) - common for rows in (here, there))
        assert sizes == ([0, k] if relation is ADD else [k, k])
        assert not np.array_equal(here, there)


def test_a_seed_repeats_a_run_and_runs_differ():
    fits = Fits(Request("outpert", epsilon=4.0, seed=7))
    first, second = fits.draw(0, 0, 5, 2)
    assert np.array_equal(first, fits.run(0, 0, 5)) and not np.array_equal(first, second)
    assert not np.array_equal(first, fits.run(0, 1, 5))
    assert not np.array_equal(first, Fits(replace(fits.request, seed=8)).run(0, 0, 5))


def test_a_unit_of_several_rows_is_one_change():
    fits = Fits(Request("dp-gd", rows_per_unit=2, seed=1))
    sizes = [fits.rows(0, world)[0].n_units for world in (0, 1)]
    assert sizes == [64, 63] and fits.rows(0, 0)[0].X.shape == (65, 3)
    assert fits.run(0, 0, 0).shape == (5,)


def test_what_claims_nothing_is_refused():
    with pytest.raises(InvalidInputError, match="claims no epsilon"):
        Fits(Request("nonprivate"))
    with pytest.raises(InvalidInputError, match="claims no epsilon"):
        Fits(Request("sgd-users", seed=1)).run(0, 0, 0)


def test_the_claim_is_of_mu_where_the_filter_holds_it():
    assert Fits(Request("dp-gd", epsilon=2.0)).claim.mu == pytest.approx(0.5016, abs=1e-4)
    assert Fits(Request("privgene", epsilon=2.0)).claim.mu is None
    assert Fits(Request("output-nr", epsilon=2.0)).claim.delta == 0.0


@pytest.mark.parametrize("name", ["dp-gd", "dp-agd", "adassp", "privgene"])
def test_releases_are_no_further_apart_than_they_declare(name):
    found, left = releases_of(Fits(Request(name, seed=1)), 1)
    assert found and not left
    assert all(0 < release.share <= 1 for release in found)
    assert any(release.share > 0.99 for release in found)


def test_what_is_saved_is_counted_again(tmp_path):
    fits = Fits(Request("outpert", epsilon=40.0, seed=3))
    finding = audit_worlds(fits.claim, fits.draw, 2, 40)
    save(tmp_path / "a.json", fits, finding)
    same, found = again(tmp_path / "a.json")
    assert found.counts == finding.counts and same.request == fits.request
    assert found.epsilon == finding.epsilon and not found.is_violation
    told = json.loads((tmp_path / "a.json").read_text())
    told["tables"]["here"]["X"][0][0] = 0.5
    (tmp_path / "a.json").write_text(json.dumps(told))
    with pytest.raises(InvalidInputError, match="does not make"):
        again(tmp_path / "a.json")
    (tmp_path / "a.json").write_text("{}")
    with pytest.raises(InvalidInputError, match="no file of an audit"):
        again(tmp_path / "a.json")


AUDITED = [
    entry.name
    for entry in load_registry().entries("optimizer")
    if "user-pool" not in load_registry().load("optimizer", entry.name).needs
    and optimizer_facts(load_registry().load("optimizer", entry.name)).private
]


@pytest.mark.slow
@pytest.mark.parametrize("name", AUDITED)
def test_every_algorithm_of_ours_is_audited(name):
    # So few runs find nothing but a model that its row decides. False alarms: 1e-6 each.
    fits = Fits(Request(name, epsilon=4.0))
    assert not audit_worlds(fits.claim, fits.draw, 1, 32).is_violation
