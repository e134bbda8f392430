"""Ridge regression from private sums of products (Wang, UAI 2018) as a dpcore plugin."""

from collections.abc import Callable

from dpcore.plugin import hookimpl

__all__: list[str] = []


@hookimpl
def register_optimizers(register: Callable[..., None]) -> None:
    register(
        "adassp",
        "dpcore_adassp.adassp:AdaSsp",
        summary="Ridge from noisy X'X and X'y, with a penalty that follows the spectrum.",
        reference="Wang, UAI 2018",
    )
    register(
        "boosted-adassp",
        "dpcore_adassp.boosted_adassp:BoostedAdaSsp",
        summary="Ridge by boosting: one noisy X'X, then AdaSSP on clipped residuals.",
        reference="Tang et al., SaTML 2024",
    )
    register(
        "gram-ridge",
        "dpcore_adassp.gram_ridge:GramRidge",
        summary="Ridge from a noisy X'X and clipped residuals, shrunk by Bayes; auto takes it.",
        reference="Wang, UAI 2018; Bernstein & Sheldon, NeurIPS 2019",
    )
