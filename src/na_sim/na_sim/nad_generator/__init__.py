# SPDX-License-Identifier: Apache-2.0
"""Generator of NAD episodes from the emulated plant."""
