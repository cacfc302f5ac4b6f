# SPDX-License-Identifier: Apache-2.0
"""What every emulated servo bus has in common: terminal, time, faults, physics; no protocol."""
