# SPDX-License-Identifier: Apache-2.0
"""What may be wrong with a set-up before an arm is started: looks only, changes nothing."""
