"""The project's own parts, registered by the hooks that any plugin uses."""

from collections.abc import Callable

from dpcore.registry.builtin_commands import register_commands
from dpcore.registry.builtins_of_data import (
    register_column_kinds,
    register_readers,
    register_row_stores,
)
from dpcore.registry.hookspecs import hookimpl
from dpcore.registry.own_steps import register_steps

__all__ = [
    "register_column_kinds",
    "register_commands",
    "register_readers",
    "register_row_stores",
    "register_steps",
]


@hookimpl
def register_mechanisms(register: Callable[..., None]) -> None:
    register(
        "gaussian",
        "dpcore.mechanisms.gaussian:Gaussian",
        summary="Exact normal noise, floored to the grid of the sum.",
        reference="Karney 2016; Bun & Steinke 2016",
    )
    register(
        "laplace",
        "dpcore.mechanisms.laplace:Laplace",
        summary="Exact Laplace noise, floored to the grid of the sum.",
        reference="Dwork, McSherry, Nissim & Smith 2006",
    )
    register(
        "geometric",
        "dpcore.mechanisms.geometric:Geometric",
        summary="Two-sided geometric noise on the integers.",
        reference="Ghosh, Roughgarden & Sundararajan 2009",
    )
    register(
        "exponential",
        "dpcore.mechanisms.exponential:Exponential",
        summary="Selects an index with probability proportional to exp(utility / scale).",
        reference="McSherry & Talwar 2007; Dong, Durfee & Rogers 2020",
    )
    register(
        "permute-and-flip",
        "dpcore.mechanisms.permute_and_flip:PermuteAndFlip",
        summary="Selects the largest utility after one-sided exponential noise.",
        reference="McKenna & Sheldon 2020",
    )
    register(
        "report-noisy-max",
        "dpcore.mechanisms.report_noisy_max:ReportNoisyMax",
        summary="Selects the largest utility after Laplace noise.",
        reference="Dwork & Roth 2014",
    )


@hookimpl
def register_accountants(register: Callable[..., None]) -> None:
    register(
        "zcdp",
        "dpcore.accountants.zcdp:ZcdpAccountant",
        summary="Adds up rho of zero-concentrated DP; a fully adaptive filter.",
        reference="Bun & Steinke 2016; Canonne, Kamath & Steinke 2020",
    )
    register(
        "gdp",
        "dpcore.accountants.gdp:GdpAccountant",
        summary="Adds up mu^2 of Gaussian DP; exact where all releases are Gaussian.",
        reference="Dong, Roth & Su 2022; Balle & Wang 2018",
    )
    register(
        "rdp",
        "dpcore.accountants.rdp:RdpAccountant",
        summary="Adds up Renyi DP at one order, fixed beforehand; Poisson samples too.",
        reference="Mironov 2017; Mironov, Talwar & Zhang 2019; Feldman & Zrnic 2021",
    )
    register(
        "single",
        "dpcore.accountants.single:SingleReleaseAccountant",
        summary="Bounds one Gaussian release by its own curve; refuses a second.",
        reference="Balle & Wang 2018; Chen, Lee & Kifer 2019",
    )
    register(
        "pld",
        "dpcore.accountants.pld:PldAccountant",
        summary="Convolves privacy losses, from above: the tightest; fixed schedules.",
        reference="Zhu, Dong & Wang 2022; Doroshenko et al. 2022",
    )
    register(
        "advanced-composition",
        "dpcore.accountants.advanced_composition:AdvancedCompositionAccountant",
        summary="Gaussian releases of samples, amplified, then composed; fixed schedules.",
        reference="Balle, Barthe & Gaboardi 2018; Kairouz, Oh & Viswanath 2017",
    )
    register(
        "best",
        "dpcore.accountants.best:BestAccountant",
        summary="The one under which a schedule fixed beforehand takes the least noise.",
    )
    register(
        "pure",
        "dpcore.accountants.pure:PureAccountant",
        summary="Adds up epsilons: basic composition.",
        reference="Dwork, McSherry, Nissim & Smith 2006; Rogers et al. 2016",
    )


@hookimpl
def register_losses(register: Callable[..., None]) -> None:
    register(
        "logistic",
        "dpcore.losses.logistic:Logistic",
        summary="log(1 + exp(-y z)): logistic regression.",
    )
    register(
        "softmax",
        "dpcore.losses.logistic:Softmax",
        summary="log(sum_k exp(z_k)) - z_y: logistic regression of three classes or more.",
    )
    register(
        "hinge-svm",
        "dpcore.losses.hinge:HingeSvm",
        summary="max(0, 1 - y z): support vector machine.",
    )
    register(
        "huber-svm",
        "dpcore.losses.huber:HuberSvm",
        summary="The hinge with a quadratic corner: smooth support vector machine.",
        reference="Chaudhuri, Monteleoni & Sarwate 2011",
    )
    register(
        "quantile",
        "dpcore.losses.quantile:Quantile",
        summary="max(tau r, (tau - 1) r) of the residual r = y - z: quantile regression.",
        reference="Koenker & Bassett 1978; Fernandes, Guerre & Horta 2021",
    )
    register(
        "ridge",
        "dpcore.losses.squared:Squared",
        summary="(z - y)^2 / 2 on real-valued targets: ridge regression.",
    )


@hookimpl
def register_datasets(register: Callable[..., None]) -> None:
    register(
        "census-sim",
        "dpcore.data.datasets.census_sim:load",
        summary="Generated census: 50,000 rows with Adult's columns and a planted linear rule.",
    )
    register(
        "buzz-sim",
        "dpcore.data.datasets.buzz_sim:load",
        summary="Generated popularity: 100,000 rows of 77 heavy-tailed counts, a log target.",
        reference="after Ligett et al. 2017, section 4",
    )
    register(
        "adult",
        "dpcore.data.datasets.adult:load",
        summary="UCI Adult: is the income above 50,000 dollars? 48,842 rows, 108 features.",
        reference="Kohavi 1996",
    )
    register(
        "a9a",
        "dpcore.data.datasets.a9a:load",
        summary="LIBSVM's coding of Adult: 48,842 rows, 123 features.",
        reference="Platt 1998",
    )
    register(
        "bank",
        "dpcore.data.datasets.bank:load",
        summary="Bank marketing: does the client subscribe? 45,211 rows, 32 features.",
        reference="Moro, Cortez & Rita 2014",
    )
    register(
        "kddcup99-10",
        "dpcore.data.datasets.kddcup99:load",
        summary="KDD Cup 1999, a tenth: normal against the rest, 494,021 rows.",
        reference="Stolfo et al. 1999",
    )
    register(
        "kddcup99-10-classes",
        "dpcore.data.datasets.kddcup99_classes:load",
        summary="The rows of kddcup99-10 by five classes: normal, dos, probe, r2l, u2r.",
        reference="Stolfo et al. 1999",
    )
    register(
        "kddcup99-10-numeric",
        "dpcore.data.datasets.kddcup99:load_numeric",
        summary="The 38 numeric columns of kddcup99-10.",
        reference="Stolfo et al. 1999",
    )


@hookimpl
def register_engines(register: Callable[..., None]) -> None:
    register(
        "local",
        "dpcore.engines.local:LocalEngine",
        summary="Sums the blocks of a table in this process.",
    )


@hookimpl
def register_exporters(register: Callable[..., None]) -> None:
    register(
        "onnx",
        "dpcore.export.onnx_model:OnnxExporter",
        summary="An ONNX graph, from the cells of rows to scores and labels.",
        suffixes=(".onnx",),
    )


@hookimpl
def register_ledger_stores(register: Callable[..., None]) -> None:
    register(
        "sqlite",
        "dpcore.ledger.stores.sqlite:SqliteStore",
        summary="A SQLite file: every path whose suffix no other store claims.",
        suffixes=(".ledger", ".sqlite"),
    )
    register(
        "postgresql",
        "dpcore.ledger.stores.postgresql:PostgresqlStore",
        summary="A PostgreSQL database, for several machines: postgresql://HOST/DATABASE?ledger=NAME.",
        schemes=("postgresql", "postgres"),
    )
