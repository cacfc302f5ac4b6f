# SPDX-License-Identifier: Apache-2.0
"""Electro-mechanics of hobby servos, compiled and vectorised over (episodes, joints)."""
