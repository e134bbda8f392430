"""Algorithms of other projects, as externals of dpcore-lab.

The distribution beside this file registers them where its folder is on Python's path:

    python bench/others/environments.py diffprivlib
    PYTHONPATH=bench/others dpcore compare --algos auto,diffprivlib-logistic --data adult
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import environments

from dpcore_lab.externals import hookimpl

HERE = Path(__file__).parent
CLASSES, NUMBER = ("classes",), ("number",)
BOTH = (*CLASSES, *NUMBER)

ALGORITHMS: dict[str, tuple[str, tuple[str, ...], dict[str, Any]]] = {
    "diffprivlib-logistic": (
        "diffprivlib",
        ("diffprivlib_external.py",),
        {
            "summary": "diffprivlib's LogisticRegression, C = 1, its default.",
            "reference": "Chaudhuri, Monteleoni & Sarwate, JMLR 2011",
            "tasks": CLASSES,
            "pure": True,
            "relation": "replace-one",
        },
    ),
    "diffprivlib-linear": (
        "diffprivlib",
        ("diffprivlib_external.py",),
        {
            "summary": "diffprivlib's LinearRegression, at its defaults.",
            "reference": "Zhang et al., VLDB 2012",
            "tasks": NUMBER,
            "pure": True,
            "relation": "replace-one",
        },
    ),
    "dp-ebm": (
        "dp-ebm",
        ("dp_ebm_external.py",),
        {
            "summary": "interpret's DP-EBM, at its defaults: not linear, a curve a column.",
            "reference": "Nori, Caruana, Bu, Shen & Kulkarni, ICML 2021",
            "tasks": BOTH,
            "bounds_from_data": True,
        },
    ),
    "opacus": (
        "opacus",
        ("opacus_external.py",),
        {
            "summary": "Opacus' DP-SGD on a linear layer, 10 epochs.",
            "reference": "Abadi et al., CCS 2016",
            "tasks": BOTH,
        },
    ),
    "opendp-theil-sen": (
        "opendp",
        ("opendp_external.py",),
        {
            "summary": "OpenDP's LinearRegression, of the first number alone.",
            "reference": "Alabi et al., PoPETs 2022",
            "tasks": NUMBER,
            "pure": True,
        },
    ),
    "mst": (
        "synthesizer",
        ("synthesizer_external.py", "mst"),
        {
            "summary": "smartnoise-synth's MST, and a plain linear model of its rows.",
            "reference": "McKenna, Miklau & Sheldon, JPC 2021",
            "tasks": BOTH,
        },
    ),
    "aim": (
        "synthesizer",
        ("synthesizer_external.py", "aim"),
        {
            "summary": "smartnoise-synth's AIM, and a plain linear model of its rows.",
            "reference": "McKenna, Mullins, Sheldon & Miklau, VLDB 2022",
            "tasks": BOTH,
        },
    ),
}
"""The environment, the script with its arguments, and what is stated of each algorithm."""


@hookimpl
def register_externals(register: Callable[..., None]) -> None:
    for name, (environment, (script, *words), facts) in ALGORITHMS.items():
        command = (str(environments.python_of(environment)), str(HERE / script), *words)
        remedy = f"python bench/others/environments.py {environment} makes its environment."
        register(name, command, remedy=remedy, **facts)
