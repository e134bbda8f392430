"""DP-SGD logistic regression with Opacus on the rows of an .npz file; prints JSON, one object per
fit.

Run by ``bench/fit.py`` in an environment of its own. ``make_private_with_epsilon`` with its
defaults (Poisson sampling, PRV accountant, flat clipping, hooks; no secure mode) on a linear layer,
SGD, clip 1. A fit is everything from the tensors on: the search for the noise and the training.
The first fit in the process, of one epoch, is not counted.
"""

import argparse
import json
import time
import warnings

import numpy as np
import torch
from opacus import PrivacyEngine
from torch.utils.data import DataLoader, TensorDataset

SETTINGS = ((256, 10, 0.5), (1024, 10, 4.0), (1024, 20, 2.0))
"""Rows of a batch, epochs, learning rate: usual sizes, each with the best of a few rates."""
CLIP = 1.0


def fit(
    data: TensorDataset, setting: tuple[int, int, float], epsilon: float, delta: float
) -> tuple[torch.nn.Module, float]:
    """Return the fitted layer and the seconds of wall time that finding the noise took."""
    batch, epochs, rate = setting
    model = torch.nn.Linear(data.tensors[0].shape[1], 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=rate)
    started = time.perf_counter()
    model, optimizer, loader = PrivacyEngine().make_private_with_epsilon(
        module=model,
        optimizer=optimizer,
        data_loader=DataLoader(data, batch_size=batch),
        target_epsilon=epsilon,
        target_delta=delta,
        epochs=epochs,
        max_grad_norm=CLIP,
    )
    planned = time.perf_counter() - started
    loss = torch.nn.BCEWithLogitsLoss()
    for _ in range(epochs):
        for X, y in loader:
            optimizer.zero_grad()
            loss(model(X)[:, 0], y).backward()
            optimizer.step()
    return model, planned


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("rows")
    parser.add_argument("--epsilon", type=float, required=True)
    parser.add_argument("--delta", type=float, required=True)
    parser.add_argument("--repeats", type=int, required=True)
    parser.add_argument("--settings", type=json.loads, default=SETTINGS)
    chosen = parser.parse_args()
    warnings.simplefilter("ignore")
    with np.load(chosen.rows) as file:
        X, X_test = (torch.tensor(file[name]).float() for name in ("X_train", "X_test"))
        y, y_test = (torch.tensor(file[name] > 0) for name in ("y_train", "y_test"))
    data, found = TensorDataset(X, y.float()), []
    batch, _, rate = chosen.settings[0]
    fit(data, (batch, 1, rate), chosen.epsilon, chosen.delta)
    for setting in chosen.settings:
        batch, epochs, rate = setting
        for _ in range(chosen.repeats):
            wall, cpu = time.perf_counter(), time.process_time()
            model, planned = fit(data, setting, chosen.epsilon, chosen.delta)
            seconds = {"wall": time.perf_counter() - wall, "cpu": time.process_time() - cpu}
            with torch.no_grad():
                right = (model(X_test)[:, 0] > 0) == y_test
            name = f"batch {batch}, {epochs} epochs, rate {rate:g}"
            accuracy = 100 * float(right.float().mean())
            found.append({"setting": name, **seconds, "planned": planned, "accuracy": accuracy})
    print(json.dumps(found))


if __name__ == "__main__":
    main()
