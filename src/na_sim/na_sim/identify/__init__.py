# SPDX-License-Identifier: Apache-2.0
"""Fitting the servo model to recordings, and comparing it with published models."""
