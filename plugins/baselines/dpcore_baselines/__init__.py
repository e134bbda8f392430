"""The algorithms that others are measured against, as a dpcore plugin."""

from collections.abc import Callable

from dpcore.plugin import hookimpl

__all__: list[str] = []

_DEFAULT = "auto"
_OPTIMIZERS: dict[str, tuple[str, str, str]] = {
    "auto": (
        "auto:Auto",
        "Chosen by budget, loss and accountant; the default. Mostly dp-gd.",
        "",
    ),
    "dp-gd": (
        "dp_gd:DpGd",
        "Full-batch gradient descent on columns standardised by noisy moments.",
        "Bassily et al., FOCS 2014; Dong, Roth & Su, JRSS B 2022",
    ),
    "majority": (
        "without_privacy.nonprivate:Majority",
        "The commonest class for every row, counted exactly: NOT PRIVATE.",
        "",
    ),
    "nonprivate": (
        "without_privacy.nonprivate:NonPrivate",
        "The exact minimiser by L-BFGS: NOT PRIVATE.",
        "Byrd, Lu, Nocedal & Zhu 1995",
    ),
    "objpert": (
        "objpert:ObjPert",
        "The minimiser of an objective with a random linear term; one release.",
        "Chaudhuri et al., JMLR 2011; Kifer et al., COLT 2012",
    ),
    "outpert": (
        "outpert:OutPert",
        "The exact minimiser plus noise; one release.",
        "Chaudhuri, Monteleoni & Sarwate, JMLR 2011",
    ),
    "privgene": (
        "privgene:PrivGene",
        "Selects among random mutations of the best candidate so far.",
        "Zhang et al., SIGMOD 2013",
    ),
    "sgd-adv": (
        "sgd_adv:SgdAdv",
        "SGD on Poisson samples, accounted for by advanced composition.",
        "Bassily, Smith & Thakurta, FOCS 2014",
    ),
    "sgd-ma": (
        "sgd_ma:SgdMa",
        "SGD on Poisson samples, accounted for by privacy losses (pld).",
        "Abadi et al., CCS 2016",
    ),
}
"""Name -> (module and class in this package, summary, reference), by name."""


@hookimpl
def register_accountants(register: Callable[..., None]) -> None:
    register(
        "none",
        f"{__name__}.without_privacy.accountant:NonPrivateAccountant",
        summary="Counts exact answers and guarantees nothing: NOT PRIVATE, for baselines.",
    )


@hookimpl
def register_losses(register: Callable[..., None]) -> None:
    register(
        "hinge-svm",
        "dpcore_baselines.losses.hinge:HingeSvm",
        summary="max(0, 1 - y z): support vector machine.",
    )
    register(
        "huber-svm",
        "dpcore_baselines.losses.huber:HuberSvm",
        summary="The hinge with a quadratic corner: smooth support vector machine.",
        reference="Chaudhuri, Monteleoni & Sarwate 2011",
    )
    register(
        "quantile",
        "dpcore_baselines.losses.quantile:Quantile",
        summary="max(tau r, (tau - 1) r) of the residual r = y - z: quantile regression.",
        reference="Koenker & Bassett 1978; Fernandes, Guerre & Horta 2021",
    )


@hookimpl
def register_mechanisms(register: Callable[..., None]) -> None:
    register(
        "gamma",
        "dpcore_baselines.perturbation.gamma:Gamma",
        summary="Exact noise of density exp(-length): pure epsilon for an l2 bound.",
        reference="Chaudhuri, Monteleoni & Sarwate 2011; Hardt & Talwar 2010",
    )


@hookimpl
def register_optimizers(register: Callable[..., None]) -> None:
    for name, (target, summary, reference) in _OPTIMIZERS.items():
        told = {"summary": summary, "reference": reference, "default": name == _DEFAULT}
        register(name, f"dpcore_baselines.{target}", **told)
