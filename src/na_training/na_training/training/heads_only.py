# SPDX-License-Identifier: Apache-2.0
"""The last part of a run: encoder frozen and computed once, heads trained on single ticks."""

from __future__ import annotations

import hashlib
import os

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from na_training.data import DataError, Store
from na_training.model import WINDOW, Actuator
from na_training.training.config import TrainConfig
from na_training.training.loss import Labels, estimate_losses
from na_training.training.step import mixed_precision

FROZEN = ("encoder.", "heads.effort.")
"""Weights that this part leaves alone: the closed loop stays as it was."""
PIECE, PIECES = 56, 32
"""Ticks of a piece, and pieces at once, while latents are computed."""
ABSENT_SHARE = 0.15
"""Part of each batch whose memory features are hidden, as they are in a rollout."""


class HeadsObjective:
    """Losses of the estimates on ticks drawn one by one, far cheaper than whole pieces.

    Args:
        config: settings.
        store: training ticks.
        model: whose encoder is used as it is now.
    """

    def __init__(self, config: TrainConfig, store: Store, model: Actuator) -> None:
        self.config = config
        self.store = store
        self.mixed = mixed_precision(config.precision)
        self.latent = kept_latents(model, store, mixed=self.mixed)
        given = config.category_weights
        names = sorted({run.kind(given) for run in store.runs if run.length >= WINDOW})
        weights = np.array([max(given.get(name, 1.0), 0.0) for name in names])
        if not names or weights.sum() <= 0.0:
            raise DataError(f"no run of {WINDOW} ticks in the categories that are sampled")
        self._edges = np.cumsum(weights / weights.sum())
        self._ticks = [
            np.concatenate(
                [
                    np.arange(run.start + WINDOW - 1, run.stop)
                    for run in store.runs
                    if run.kind(given) == name and run.length >= WINDOW
                ]
            )
            for name in names
        ]

    def draw(self, rng: np.random.Generator, count: int) -> NDArray[np.int64]:
        """Indices of ticks with a full window (count,), categories in their shares."""
        kinds = np.minimum(
            np.searchsorted(self._edges, rng.random(count), "right"), len(self._ticks) - 1
        )
        parts = [
            ticks[rng.integers(len(ticks), size=int((kinds == kind).sum()))]
            for kind, ticks in enumerate(self._ticks)
        ]
        return np.concatenate(parts)

    def losses(self, model: Actuator, rng: np.random.Generator) -> dict[str, Tensor]:
        """Weighted losses by name."""
        with torch.autocast("cpu", torch.bfloat16, enabled=self.mixed):
            losses = self._losses(model, rng)
        return {name: value.float() for name, value in losses.items()}

    def _losses(self, model: Actuator, rng: np.random.Generator) -> dict[str, Tensor]:
        index = self.draw(rng, self.config.heads_batch)
        if self.config.heads_dropout:
            torch.manual_seed(int(rng.integers(2**31)))  # so that a resumed run drops the same
        latent = torch.from_numpy(self.latent[index].astype(np.float32))
        labels = Labels(
            torch.from_numpy(self.store.force[index]),
            torch.from_numpy(self.store.contact[index]),
            torch.from_numpy(self.store.restricted[index]),
        )
        if not model.layout.extras:
            estimates = model.estimates(latent, None)
            return _named("heads", estimate_losses(estimates, labels, self.config))
        features = torch.from_numpy(self.store.features[index])
        result = _named(
            "heads", estimate_losses(model.estimates(latent, features), labels, self.config)
        )
        few = torch.from_numpy(rng.random(len(index)) < ABSENT_SHARE)
        hidden = estimate_losses(model.estimates(latent[few], None), labels[few], self.config)
        for name, value in _named("hidden", hidden).items():
            result[name] = ABSENT_SHARE * value
        return result


def _named(prefix: str, losses: dict[str, Tensor]) -> dict[str, Tensor]:
    return {f"{prefix}/{name}": value for name, value in losses.items()}


def kept_latents(model: Actuator, store: Store, *, mixed: bool = False) -> NDArray[np.float16]:
    """`latents_of`, kept beside the features of a store in files, for runs on the same encoder."""
    if store.folder is None:
        return latents_of(model, store, mixed=mixed)
    digest = hashlib.sha256(f"{mixed}".encode())
    for name, value in sorted(model.state_dict().items()):
        if name.startswith(("encoder.", "mean", "scale")):
            digest.update(name.encode())
            digest.update(value.contiguous().numpy().tobytes())
    path = store.folder / f"latents-{digest.hexdigest()[:24]}.npy"
    if not path.exists():
        # Written aside and renamed: another run may be at it too, and one may be killed.
        aside = path.with_suffix(f".{os.getpid()}")
        shape = (len(store), model.encoder.width)
        out = np.lib.format.open_memmap(str(aside), mode="w+", dtype=np.float16, shape=shape)
        latents_of(model, store, mixed=mixed, out=out)
        out.flush()
        aside.rename(path)
    mapped: NDArray[np.float16] = np.load(path, mmap_mode="r")
    return mapped


def latents_of(
    model: Actuator,
    store: Store,
    *,
    mixed: bool = False,
    out: NDArray[np.float16] | None = None,
) -> NDArray[np.float16]:
    """Latents (N, width) of every tick with a full window; the others stay zero.

    `mixed` computes the attention in bfloat16, whose error of 0.2 % is that of keeping float16;
    features are embedded in full precision. `out`: zeros to write them into.
    """
    if out is None:
        out = np.zeros((len(store), model.encoder.width), dtype=np.float16)
    cut = model.layout.basic
    # Attention over a piece costs its length squared: short pieces, many at once.
    runs = [run for run in store.runs if run.length >= WINDOW]
    firsts = [np.arange(run.start, run.stop - WINDOW + 1, PIECE) for run in runs]
    starts = np.concatenate(firsts)
    stops = np.repeat([run.stop for run in runs], [len(first) for first in firsts])
    within = np.arange(PIECE + WINDOW - 1)
    with torch.no_grad():
        for at in range(0, len(starts), PIECES):
            ticks, stop = starts[at : at + PIECES, None] + within, stops[at : at + PIECES, None]
            rows = store.features[np.minimum(ticks, stop - 1)][..., :cut]
            token = model.token(torch.from_numpy(rows))
            with torch.autocast("cpu", torch.bfloat16, enabled=mixed):
                latent = model.encoder.latents(token).float().numpy()
            full = ticks[:, WINDOW - 1 :]
            whole = full < stop
            out[full[whole]] = latent[whole]
    return out


def freeze(model: Actuator, dropout: float) -> None:
    """Let only the heads of the estimates be trained, with this dropout in them."""
    model.heads.dropout = dropout
    for name, parameter in model.named_parameters():
        parameter.requires_grad_(not name.startswith(FROZEN))
