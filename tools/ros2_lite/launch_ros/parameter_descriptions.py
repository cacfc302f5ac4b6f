# SPDX-License-Identifier: Apache-2.0
"""Parameters of nodes: what launch files write, and the values it stands for."""

from __future__ import annotations

import os
import typing
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml
from launch.conditions import truth_of
from launch.launch_context import LaunchContext
from launch.substitution import SomeSubstitutionsType, Substitution, perform_any
from ros2_lite.refusal import FeatureRefusedError, refusing_getattr

SCALARS = (bool, int, float, str)
Parameters = dict[str, Any]


class ParameterFile:
    """A YAML file with parameters; its path may contain substitutions."""

    def __init__(
        self, param_file: os.PathLike[str] | SomeSubstitutionsType, *, allow_substs: bool = False
    ) -> None:
        if allow_substs:
            raise FeatureRefusedError("launch_ros.descriptions.ParameterFile(allow_substs=True)")
        self.param_file = param_file

    def evaluate(self, context: LaunchContext) -> Path:
        """Return the path."""
        if isinstance(self.param_file, os.PathLike):
            return Path(self.param_file)
        return Path(perform_any(context, self.param_file))


class ParameterValue:
    """
    A value with a type.

    `value_type` is bool, int, float, str, or `list[...]` of one of them; it says how the text of
    a substitution is read (None: by the rules of YAML) and what any other value must be.
    """

    def __init__(self, value: Any, *, value_type: Any = None) -> None:
        origin, arguments = typing.get_origin(value_type), typing.get_args(value_type)
        is_list = origin is list and len(arguments) == 1 and arguments[0] in SCALARS
        if not (value_type is None or value_type in SCALARS or is_list):
            raise ValueError(
                f"value_type {value_type!r} is none of bool, int, float, str, list[one of these]"
            )
        self.value = value
        self.value_type = value_type

    def evaluate(self, context: LaunchContext) -> Any:
        """Return the value; TypeError or ValueError where it is not of the type."""
        value, wanted = self.value, self.value_type
        item_type = typing.get_args(wanted)[0] if typing.get_origin(wanted) is list else None
        if isinstance(value, SCALARS):
            if wanted is not None and type(value) is not wanted:
                raise TypeError(f"parameter value {value!r} is not of type {wanted}")
            return value
        if _is_substitution(value):
            return _read(perform_any(context, value), wanted)
        if wanted is not None and item_type is None:
            raise TypeError(f"parameter value {value!r} is a list, expected one {wanted}")
        items = [
            _read(perform_any(context, item), item_type) if _is_substitution(item) else item
            for item in value
        ]
        if any(isinstance(x, float) for x in items) and all(type(x) in (int, float) for x in items):
            items = [float(x) for x in items]
        if item_type is not None and any(type(item) is not item_type for item in items):
            raise ValueError(f"parameter value {items!r} is not a list of {item_type.__name__}")
        if len({type(item) for item in items}) > 1:
            raise ValueError(f"parameter value {items!r} is a list of different types")
        return items


def _is_substitution(value: Any) -> bool:
    if isinstance(value, Substitution):
        return True
    return (
        isinstance(value, list | tuple)
        and all(isinstance(item, str | Substitution) for item in value)
        and any(isinstance(item, Substitution) for item in value)
    )


def _read(text: str, wanted: Any) -> Any:
    """Return `text` as the wanted type, or by the rules of YAML where that is None."""
    if wanted in (str, int, float):
        return wanted(text)
    if wanted is bool and text in ("0", "1"):
        return truth_of(text)
    if wanted is None and not text:
        return text
    value = yaml.safe_load(text)
    if wanted is None:
        good = type(value) in SCALARS or _uniform(value)
    elif wanted is bool:
        good = isinstance(value, bool)
    else:
        item_type = typing.get_args(wanted)[0]
        good = isinstance(value, list) and all(isinstance(item, item_type) for item in value)
    if not good:
        raise ValueError(f"cannot convert {text!r} to {wanted or 'a parameter value'}")
    return value


def _uniform(value: Any) -> bool:
    """Return whether `value` is a list, not empty, of one scalar type."""
    if not isinstance(value, Sequence) or not value or type(value[0]) not in SCALARS:
        return False
    return all(isinstance(item, type(value[0])) for item in value)


def _evaluate_text(name: str, text: str) -> Any:
    """Return what the text of a substitution means as the value of parameter `name`."""
    advice = "if it is meant to be a string, use ParameterValue(value, value_type=str)"
    try:
        value = yaml.safe_load(text) if text else ""
    except yaml.YAMLError as error:
        raise TypeError(f"parameter {name}: {text!r} is not YAML; {advice}") from error
    if type(value) in (*SCALARS, bytes):
        return value
    if not _uniform(value):
        raise TypeError(f"parameter {name}: {value!r} is neither scalar nor uniform list; {advice}")
    return tuple(value)


def _evaluate_sequence(context: LaunchContext, name: str, value: Sequence[Any]) -> Any:
    types = {Substitution if isinstance(item, Substitution) else type(item) for item in value}
    if types <= {str, Substitution} and Substitution in types:  # parts of one text
        return _evaluate_text(name, perform_any(context, value))
    if types in ({float}, {float, int}):
        return tuple(float(item) for item in value)
    items = [
        item if isinstance(item, SCALARS) else yaml.safe_load(perform_any(context, item))
        for item in value
    ]
    if not _uniform(items):
        raise TypeError(
            f"parameter {name}: {items!r} must be a list, not empty, of bool, int, float or str"
        )
    return tuple(items)


def evaluate_parameters(
    context: LaunchContext, parameters: Mapping[Any, Any], prefix: str = ""
) -> Parameters:
    """Return names joined by dots and plain values; lists become tuples, as in the real one."""
    result: Parameters = {}
    for key, value in parameters.items():
        name = prefix + perform_any(context, key)
        if isinstance(value, Mapping):
            result.update(evaluate_parameters(context, value, f"{name}."))
        elif isinstance(value, ParameterValue):
            result[name] = value.evaluate(context)
        elif isinstance(value, (*SCALARS, bytes)):
            result[name] = value
        elif isinstance(value, Substitution):
            result[name] = _evaluate_text(name, perform_any(context, value))
        elif isinstance(value, Sequence):
            result[name] = _evaluate_sequence(context, name, value)
        else:
            raise TypeError(f"parameter {name}: {value!r} is of type {type(value).__name__}")
    return result


__all__ = ["ParameterFile", "ParameterValue"]
__getattr__ = refusing_getattr(__name__)
