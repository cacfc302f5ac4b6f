# SPDX-License-Identifier: Apache-2.0
"""A model file that cannot be used, and why."""

from __future__ import annotations


class ModelError(ValueError):
    """The file is unreadable, or its graph is not what a live model must be.

    Attributes:
        path: the file.
        what: the thing that does not fit.
        value: what it is.
        expected: what was expected.
    """

    def __init__(self, path: str, what: str, value: object, expected: str, remedy: str) -> None:
        self.path, self.what, self.value, self.expected = path, what, value, expected
        super().__init__(f"{path}: {what} is {value}, expected {expected}. {remedy}")
