# SPDX-License-Identifier: Apache-2.0
"""Register tables of the supported servo families: pure data, no bus."""

from __future__ import annotations

from collections.abc import Mapping

from na_core.control_tables.dynamixel_x import (
    DYNAMIXEL_BAUD_RATES,
    DYNAMIXEL_X,
    DYNAMIXEL_X_MODELS,
)
from na_core.control_tables.feetech_sts import FEETECH_BAUD_RATES, FEETECH_STS
from na_core.control_tables.register import Register, span, table_end

__all__ = [
    "DYNAMIXEL_BAUD_RATES",
    "DYNAMIXEL_X",
    "DYNAMIXEL_X_MODELS",
    "FEETECH_BAUD_RATES",
    "FEETECH_STS",
    "Register",
    "control_table",
    "span",
    "table_end",
]


def control_table(model: str) -> Mapping[str, Register]:
    """Return the registers of `model` by name, for example "xm430-w350" or "sts3215".

    Raises KeyError naming the model and the known ones.
    """
    key = model.lower()
    if key == "sts3215":
        return FEETECH_STS
    try:
        return DYNAMIXEL_X_MODELS[key]
    except KeyError:
        known = ", ".join([*sorted(DYNAMIXEL_X_MODELS), "sts3215"])
        raise KeyError(
            f"no control table for servo model {model!r}; known models: {known}. "
            "Correct the model in the robot YAML or add a table in na_core.control_tables."
        ) from None
