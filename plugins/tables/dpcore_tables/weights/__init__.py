"""Weights of classes and of rows in a fit: public ones, balanced ones from counts that are
released, and private ones of rows up to a public bound."""
