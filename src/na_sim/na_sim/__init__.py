# SPDX-License-Identifier: Apache-2.0
"""Emulated twin of the arms: servo wire protocols, electro-mechanics, plant and operator."""
