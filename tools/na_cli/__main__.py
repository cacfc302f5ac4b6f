# SPDX-License-Identifier: Apache-2.0
"""Entry of ./na under any Python: sets up when needed, then runs the verb inside."""

from __future__ import annotations

import os
import sys

from na_cli import environment, setup_workspace
from na_cli.registry import UsageError, describe_verbs, run_verb, verb_names
from na_cli.setup_steps import SetupError

HELP_WORDS = ("help", "-h", "--help")


def main(argv: list[str]) -> int:
    """Run one verb and return its exit code.

    Argument parsing happens inside the environment, where the verb's imports exist; only `help`
    and `setup` run under the Python that ./na found.
    """
    if not argv or argv[0] in HELP_WORDS:
        print(describe_verbs())
        return 0 if argv else 2
    verb, arguments = argv[0], argv[1:]
    if verb == "setup":
        return setup_workspace.main(arguments)
    if verb not in verb_names():
        print(f"./na: no verb {verb!r}. Verbs: setup, {', '.join(verb_names())}.", file=sys.stderr)
        return 2
    workspace = environment.Workspace.here()
    if not environment.inside(workspace):
        if setup_workspace.is_due(workspace):
            code = setup_workspace.main([])
            if code:
                return code
        python = workspace.venv_python
        os.execve(python, [str(python), "-m", "na_cli", *argv], environment.load(workspace))
    try:
        return run_verb(verb, arguments)
    except (UsageError, SetupError) as error:
        print(f"./na {verb}: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
