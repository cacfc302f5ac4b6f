# SPDX-License-Identifier: Apache-2.0
"""Learns joint efforts, external force, contact and condition from telemetry of a servo arm."""
