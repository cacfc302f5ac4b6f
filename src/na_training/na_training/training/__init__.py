# SPDX-License-Identifier: Apache-2.0
"""Training: settings, rollouts, losses, loop, checkpoints."""
