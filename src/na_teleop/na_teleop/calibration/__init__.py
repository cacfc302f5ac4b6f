# SPDX-License-Identifier: Apache-2.0
"""Calibration of one arm by moving it by hand: steps, their assembly, and the run over a bus."""
