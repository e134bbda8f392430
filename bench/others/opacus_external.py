"""DP-SGD of Opacus on a linear layer, as an external algorithm (Abadi et al., CCS 2016).

``make_private_with_epsilon`` with its defaults: Poisson sampling, PRV accountant, flat clipping; no
secure mode. Ten epochs of batches of 256, a quarter of the rows where there are fewer than 1,024,
clip 1, learning rate 0.5, of numbers 0.1; the number of rows is taken as public. But for that rate
these are the first settings of opacus_fit.py.
"""

import warnings

import numpy as np
import pyarrow as pa
import torch
from exchange_files import Request, is_number, matrix, run, scaled_labels
from opacus import PrivacyEngine
from torch.utils.data import DataLoader, TensorDataset

BATCH, EPOCHS, CLIP = 256, 10, 1.0
RATE, RATE_OF_NUMBERS = 0.5, 0.1


def predict(request: Request, train: pa.Table, test: pa.Table) -> np.ndarray:
    X, y = matrix(request, train), scaled_labels(request, train)
    number, data = is_number(request), TensorDataset(_tensor(X), _tensor(y))
    module = torch.nn.Linear(X.shape[1], 1)
    model, optimizer, loader = PrivacyEngine().make_private_with_epsilon(
        module=module,
        optimizer=torch.optim.SGD(module.parameters(), lr=RATE_OF_NUMBERS if number else RATE),
        data_loader=DataLoader(data, batch_size=max(1, min(BATCH, len(y) // 4))),
        target_epsilon=request["epsilon"],
        target_delta=request["delta"],
        epochs=EPOCHS,
        max_grad_norm=CLIP,
    )
    loss = torch.nn.MSELoss() if number else torch.nn.BCEWithLogitsLoss()
    for _ in range(EPOCHS):
        for rows, labels in loader:
            optimizer.zero_grad()
            loss(model(rows)[:, 0], labels).backward()
            optimizer.step()
    with torch.no_grad():
        margins = model(_tensor(matrix(request, test)))[:, 0]
        found = margins.clamp(-1, 1) if number else torch.sigmoid(margins)
    if not number:
        return found.double().numpy()
    lower, upper = request["label"]["lower"], request["label"]["upper"]
    return (lower + upper) / 2 + (upper - lower) / 2 * found.double().numpy()


def _tensor(values: np.ndarray) -> torch.Tensor:
    return torch.tensor(values).float()


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    run(predict)
