"""A-DDP (Cheng et al., AAAI 2020) and the baselines of its paper as a dpcore plugin."""

from collections.abc import Callable

from dpcore.plugin import hookimpl

__all__: list[str] = []

_PAPER = "Cheng, Liu, Wang & Lu, AAAI 2020"


@hookimpl
def register_optimizers(register: Callable[..., None]) -> None:
    register(
        "a-ddp",
        "dpcore_a_ddp.a_ddp:ADdp",
        summary="SGD over users who keep their rows and leave when their budget is spent.",
        reference=_PAPER,
    )
    register(
        "sgd-maj",
        "dpcore_a_ddp.baselines:SgdMaj",
        summary="SGD over users, T rounds at basic composition, without amplification.",
        reference=_PAPER,
    )
    register(
        "sgd-pass",
        "dpcore_a_ddp.baselines:SgdPass",
        summary="SGD over users, row after row: each row is visited T times.",
        reference=_PAPER,
    )
    register(
        "sgd-adv-local",
        "dpcore_a_ddp.baselines:SgdAdvLocal",
        summary="SGD over users, T rounds at advanced composition with amplification.",
        reference="Bassily, Smith & Thakurta, FOCS 2014",
    )
    register(
        "sgd-users",
        "dpcore_a_ddp.baselines:SgdUsers",
        summary="SGD over users without noise: NOT private, what the others are measured against.",
        reference=_PAPER,
    )


@hookimpl
def register_mechanisms(register: Callable[..., None]) -> None:
    register(
        "skellam",
        "dpcore_a_ddp.skellam_noise.mechanism:Skellam",
        summary="Exact Skellam noise, which many users can draw in shares.",
        reference="Agarwal, Kairouz & Liu 2021",
    )


@hookimpl
def register_accountants(register: Callable[..., None]) -> None:
    register(
        "sampling-composition",
        "dpcore_a_ddp.sampling_composition:SamplingCompositionAccountant",
        summary="Gaussian releases of samples, by how often a row is drawn; fixed schedules.",
        reference="Cheng et al. 2020, Theorem 1",
    )
    register(
        "skellam-composition",
        "dpcore_a_ddp.skellam_noise.composition:SkellamCompositionAccountant",
        summary="Skellam releases of samples, by how often a row is drawn; fixed schedules.",
        reference="Cheng et al. 2020, Theorem 1; Agarwal, Kairouz & Liu 2021",
    )
    register(
        "skellam-advanced",
        "dpcore_a_ddp.skellam_noise.composition:SkellamAdvancedAccountant",
        summary="Skellam releases of samples, amplified, then composed; fixed schedules.",
        reference="Agarwal, Kairouz & Liu 2021; Kairouz, Oh & Viswanath 2017",
    )
