"""An ONNX graph in the making: nodes in order, each the name of what it computes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from onnx import ModelProto, NodeProto, TensorProto, ValueInfoProto, helper, numpy_helper

__all__ = ["Graph"]

_OPSETS = (("", 17), ("ai.onnx.ml", 3))
_IR_VERSION = 8
"""That of onnx 1.12, the first with opset 17: older runtimes refuse a newer one."""
_TYPES = {"f": TensorProto.DOUBLE, "U": TensorProto.STRING}


class Graph:
    """A graph over columns of cells, each of shape (n_rows, 1). Methods append a node and return
    the name of its output, by which later nodes take it."""

    def __init__(self, reserved: Sequence[str]) -> None:
        self._reserved = frozenset(reserved)
        self._nodes: list[NodeProto] = []
        self._constants: list[TensorProto] = []
        self._inputs: list[ValueInfoProto] = []
        self._outputs: list[ValueInfoProto] = []

    def input(self, name: str, kind: str) -> str:
        """Add a column of cells; ``kind`` : NumPy's letter, ``"f"`` or ``"U"``."""
        self._inputs.append(_value(name, kind, 1))
        return name

    def output(self, name: str, source: str, kind: str, width: int) -> str:
        """Name a value as an output, with underscores behind the name while a column has it."""
        while name in self._reserved:
            name += "_"
        self._nodes.append(helper.make_node("Identity", [source], [name]))
        self._outputs.append(_value(name, kind, width))
        return name

    def constant(self, value: Any) -> str:
        """Add a constant: float64 for floats, int64 for whole numbers, text for text."""
        array = np.asarray(value)
        name = self._fresh("constant", len(self._constants))
        if array.dtype.kind == "U":
            words = [word.encode("utf-8") for word in array.ravel().tolist()]
            proto = helper.make_tensor(name, TensorProto.STRING, array.shape, words)
        else:
            proto = numpy_helper.from_array(array, name)
        self._constants.append(proto)
        return name

    def op(self, kind: str, *values: Any, domain: str = "", **attributes: Any) -> str:
        """Add a node; a value that is no name of one becomes a constant."""
        names = [v if isinstance(v, str) else self.constant(v) for v in values]
        name = self._fresh(kind.lower(), len(self._nodes))
        node = helper.make_node(kind, names, [name], name=name, domain=domain, **attributes)
        self._nodes.append(node)
        return name

    def cast(self, value: str, kind: type) -> str:
        """Add a cast to float (float64), int (int64) or bool."""
        types = {float: TensorProto.DOUBLE, int: TensorProto.INT64, bool: TensorProto.BOOL}
        return self.op("Cast", value, to=types[kind])

    def finished(self, description: str, properties: Mapping[str, str]) -> ModelProto:
        """Return the model, checked by ONNX itself."""
        from onnx import checker

        graph = helper.make_graph(
            self._nodes, "dpcore", self._inputs, self._outputs, self._constants
        )
        opsets = [helper.make_opsetid(*pair) for pair in _OPSETS]
        model = helper.make_model(graph, opset_imports=opsets, producer_name="dpcore")
        model.ir_version = _IR_VERSION
        model.doc_string = description
        helper.set_model_props(model, dict(properties))
        checker.check_model(model, full_check=True)
        return model

    def _fresh(self, kind: str, number: int) -> str:
        name = f"{kind}.{number}"
        while name in self._reserved:
            name += "_"
        return name


def _value(name: str, kind: str, width: int) -> ValueInfoProto:
    return helper.make_tensor_value_info(name, _TYPES[kind], ["rows", width])
