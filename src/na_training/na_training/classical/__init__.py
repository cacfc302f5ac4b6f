# SPDX-License-Identifier: Apache-2.0
"""Classical methods fitted as their authors would: identification, effort models, observers."""
