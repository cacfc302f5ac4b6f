# SPDX-License-Identifier: Apache-2.0
"""Networks: kept tokens equal recomputed windows, and nothing older than nine ticks counts."""

from __future__ import annotations

import numpy as np
import pytest

from na_core.features import make_feature_set
from na_core.robot_spec import load_robot_spec

torch = pytest.importorskip("torch", reason="needs torch: requirements/train.txt")

from na_training.model import MODELS, WINDOW, Actuator, Layout, model_config  # noqa: E402

SPEC = load_robot_spec("omx")


def make(name: str) -> Actuator:
    torch.manual_seed(0)
    config = model_config(name)
    features = make_feature_set(config.features, SPEC, 1.0 / 58.6)
    size = features.size
    return Actuator(
        config,
        Layout.of(features, SPEC.names),
        torch.zeros(size),
        torch.ones(size),
        torch.ones(SPEC.n),
    )


def recording(model: Actuator, length: int = 20, batch: int = 2):
    generator = torch.Generator().manual_seed(1)
    return torch.randn(batch, length, len(model.layout.names), generator=generator)


@pytest.mark.parametrize("name", MODELS)
def test_kept_tokens_equal_recomputed_windows(name: str) -> None:
    model = make(name).double()
    features = recording(model).double()
    cut = model.layout.basic
    with torch.no_grad():
        tokens = [model.token(features[:, t, :cut]) for t in range(features.shape[1])]
        for t in range(WINDOW - 1, features.shape[1]):
            window = features[:, t - WINDOW + 1 : t + 1]
            whole = model(window)
            latent = model.encoder.latent(torch.stack(tokens[t - WINDOW + 1 : t + 1], 1))
            kept = (model.effort(latent), *model.estimates(latent, features[:, t]))
            for a, b in zip(whole, kept, strict=True):
                torch.testing.assert_close(a, b, rtol=0.0, atol=1e-9)


@pytest.mark.parametrize("name", MODELS)
def test_a_whole_recording_at_once_equals_its_windows(name: str) -> None:
    model = make(name)
    features = recording(model)
    with torch.no_grad():
        together = model.sequence(features)
        for t in range(features.shape[1] - WINDOW + 1):
            for a, b in zip(together, model(features[:, t : t + WINDOW]), strict=True):
                torch.testing.assert_close(a[:, t], b, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", MODELS)
def test_outputs_depend_on_nine_ticks_and_no_more(name: str) -> None:
    model = make(name)
    features = recording(model, length=WINDOW + 1).requires_grad_()
    last = model.sequence(features)
    sum(part[:, -1].sum() for part in last).backward()
    used = features.grad.abs().sum(dim=(0, 2))
    assert used[0] == 0.0 and (used[1:] > 0.0).all()


def test_sizes_are_those_of_the_ablation() -> None:
    counts = {name: make(name).parameters_count for name in MODELS}
    assert counts == {
        "query": 1_446_929,
        "full": 1_437_905,
        "mlp": 915_633,
        "gru": 1_255_481,
        "lstm": 1_141_806,
        "query_physics": 1_345_082,
        "query_hysteresis": 1_401_098,
    }


def test_dropout_acts_on_the_estimates_in_training_only() -> None:
    model = make("query_hysteresis")
    features = recording(model)
    plain = model.sequence(features)
    model.heads.dropout = 0.5
    torch.testing.assert_close(model.eval().sequence(features).force, plain.force)
    dropped = model.train().sequence(features)
    assert not torch.allclose(dropped.force, plain.force)
    torch.testing.assert_close(dropped.effort, plain.effort)


def test_memory_features_never_reach_the_effort() -> None:
    model = make("query_hysteresis")
    features = recording(model)
    other = features.clone()
    other[..., model.layout.basic :] += 3.0
    torch.testing.assert_close(model.sequence(features).effort, model.sequence(other).effort)
    assert not torch.allclose(model.sequence(features).force, model.sequence(other).force)


def test_a_joint_effort_reaches_the_force_through_the_map() -> None:
    """With every weight zero but one bias of the joint-effort output, f is that column of P."""
    model = make("query_physics")
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.zero_()
        model.heads.force[-1].bias[3 + 1] = 2.0  # N·m on the second joint
        features = torch.zeros(1, WINDOW, len(model.layout.names))
        column = model.layout.names.index("force_map.z.joint2")
        features[0, -1, column] = 5.0
        force = model(features).force[0]
    np.testing.assert_allclose(force.numpy(), [0.0, 0.0, 10.0])


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"scale": torch.zeros(35)}, "scale must be positive"),
        ({"mean": torch.zeros(3)}, "mean has"),
    ],
)
def test_wrong_scales_are_refused(change: dict[str, object], words: str) -> None:
    given = {"mean": torch.zeros(35), "scale": torch.ones(35), "effort_scale": torch.ones(5)}
    layout = Layout.of(make_feature_set("basic35", SPEC, 0.017), SPEC.names)
    with pytest.raises(ValueError, match=words):
        Actuator(model_config("query"), layout, **{**given, **change})


def test_an_unknown_model_is_named() -> None:
    with pytest.raises(ValueError, match="'resnet', expected one of query"):
        model_config("resnet")
