# SPDX-License-Identifier: Apache-2.0
"""Public recordings of real arms and servos: what our methods and simple ones say about them."""
