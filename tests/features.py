"""The feature rows of a file in one piece, for tests."""

from dpcore_tables.files import assemble, feature_pieces


def load_features(path, schema):
    return assemble((X, None) for X, _ in feature_pieces(path, schema))[0]
