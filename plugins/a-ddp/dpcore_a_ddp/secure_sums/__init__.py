"""Secure aggregation: sums of users' vectors modulo 2^64 without their vectors."""
