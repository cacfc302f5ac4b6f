# SPDX-License-Identifier: Apache-2.0
"""The actions of `./na bag`, a few to a module; each module has `add(subparsers)`."""
