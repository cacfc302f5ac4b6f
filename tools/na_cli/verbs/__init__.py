# SPDX-License-Identifier: Apache-2.0
"""One module per verb: HELP, add_arguments(parser), run(arguments) -> exit code."""
