# SPDX-License-Identifier: Apache-2.0
"""~/adapt in a running emulated system: the real worker, the guard's verdict, ticks meanwhile."""

from __future__ import annotations

from argparse import Namespace

import pytest

pytest.importorskip("torch", reason="needs torch: requirements/train.txt")


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_adaptation_ends_with_a_verdict_and_the_estimate_goes_on() -> None:
    from na_cli.bench import adapt
    from na_inference.model_paths import committed_model

    model = committed_model("omx")
    if model is None:
        pytest.skip("needs a committed model of omx")
    result = adapt.run(Namespace(seconds=45.0, after=5.0, model=model, unit=3, seed=0))
    assert set(adapt.KEYS) <= set(result)
    assert result["labelled_ticks"] > 600
    kept = "old model kept" in result["answer"]
    assert kept or "in use" in result["answer"], result["answer"]
    assert result["swapped"] is not kept
    assert result["during"]["silent_share"] < 0.5
