# SPDX-License-Identifier: Apache-2.0
"""Classical force observers, tick by tick, in numpy: the baseline beside the learned model."""
