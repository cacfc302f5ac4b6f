# SPDX-License-Identifier: Apache-2.0
"""The type of arguments that may be text, a substitution, or a list of them."""

from .substitution import SomeSubstitutionsType, SomeSubstitutionsType_types_tuple

__all__ = ["SomeSubstitutionsType", "SomeSubstitutionsType_types_tuple"]
