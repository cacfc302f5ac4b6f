# SPDX-License-Identifier: Apache-2.0
"""Servo buses: everything in SI joint units above, raw counts and packets below."""
