"""Coded rows: numbers, and one small integer for each column of categories."""

from dpcore_tables.coded.block import CODED, CodedBlock
from dpcore_tables.coded.rows import CodedLayout, CodedRows

__all__ = ["CODED", "CodedBlock", "CodedLayout", "CodedRows"]
