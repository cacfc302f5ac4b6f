# SPDX-License-Identifier: Apache-2.0
"""One module per bench: KEYS, add_arguments(parser), run(arguments) -> dict with at least KEYS."""
