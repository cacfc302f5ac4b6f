# SPDX-License-Identifier: Apache-2.0
"""Evaluation in three regimes, beside trivial baselines."""
