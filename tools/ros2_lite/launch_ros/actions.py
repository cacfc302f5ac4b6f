# SPDX-License-Identifier: Apache-2.0
"""Actions that know about ROS: nodes, namespaces and parameters for all."""

from __future__ import annotations

import atexit
import contextlib
import os
import re
from collections.abc import Iterable, Mapping
from tempfile import NamedTemporaryFile
from typing import Any

import yaml
from launch.action import Action
from launch.actions import ExecuteProcess
from launch.launch_context import LaunchContext
from launch.logging import get_logger
from launch.substitution import SomeSubstitutionsType, perform_any
from ros2_lite.refusal import FeatureRefusedError, refusing_getattr

from .parameter_descriptions import ParameterFile, Parameters, evaluate_parameters
from .substitutions import executable_path

SomeRemapRules = Iterable[tuple[SomeSubstitutionsType, SomeSubstitutionsType]]


def join_namespace(base: str | None, namespace: str | None) -> str | None:
    """Return the absolute namespace of `namespace` inside `base`; None where both are None."""
    if base is None and namespace is None:
        return None
    if namespace is None:
        joined = base or ""
    elif not base or namespace.startswith("/"):
        joined = namespace
    else:
        joined = base.rstrip("/") + "/" + namespace
    return "/" + joined.strip("/") if joined.strip("/") else "/"


def _check(kind: str, text: str, pattern: str) -> None:
    if not re.fullmatch(pattern, text):
        raise ValueError(
            f"{kind} {text!r} is not valid: letters, digits and underscores, no digit first"
        )


class Node(ExecuteProcess):
    """Starts an executable of a package as a ROS node."""

    def __init__(
        self,
        *,
        executable: SomeSubstitutionsType,
        package: SomeSubstitutionsType | None = None,
        name: SomeSubstitutionsType | None = None,
        namespace: SomeSubstitutionsType | None = None,
        exec_name: SomeSubstitutionsType | None = None,
        parameters: Iterable[Any] | None = None,
        remappings: SomeRemapRules | None = None,
        ros_arguments: Iterable[SomeSubstitutionsType] | None = None,
        arguments: Iterable[SomeSubstitutionsType] | None = None,
        **kwargs: Any,
    ) -> None:
        if "cmd" in kwargs:
            raise TypeError("Node takes `executable` and `arguments`, not `cmd`")
        super().__init__(cmd=[], name=exec_name, **kwargs)
        if parameters is not None and not isinstance(parameters, list):
            raise TypeError(f"Node parameters must be a list, got {parameters!r}")
        self.node_package = package
        self.node_executable = executable
        self._node_name = name
        self._namespace = namespace
        self._parameters = parameters or []
        self._remappings = [(source, target) for source, target in remappings or ()]
        self._ros_arguments = None if ros_arguments is None else list(ros_arguments)
        self._arguments = list(arguments or ())
        self._full_name: str | None = None

    @property
    def node_name(self) -> str:
        """The name with namespace, where both are known; only after the action was executed."""
        if self._full_name is None:
            raise RuntimeError("cannot access 'node_name' before executing action")
        return self._full_name

    def command(self, context: LaunchContext) -> list[str]:
        """Return executable, own arguments and ROS arguments, in the order of the real one."""
        executable = perform_any(context, self.node_executable)
        if self.node_package is not None:
            executable = executable_path(perform_any(context, self.node_package), executable)
        cmd = [executable, *(perform_any(context, word) for word in self._arguments)]
        if self._ros_arguments is not None:
            cmd += ["--ros-args", *(perform_any(context, word) for word in self._ros_arguments)]
        cmd.append("--ros-args")
        name = None if self._node_name is None else perform_any(context, self._node_name)
        own = None if self._namespace is None else perform_any(context, self._namespace)
        namespace = join_namespace(context.launch_configurations.get("ros_namespace"), own)
        if name is not None:
            _check("node name", name, r"[A-Za-z_]\w*")
            cmd += ["-r", f"__node:={name}"]
        if namespace is not None:
            _check("namespace", namespace, r"/|(/[A-Za-z_]\w*)+")
            cmd += ["-r", f"__ns:={namespace}"]
        known = name is not None and namespace is not None
        self._full_name = f"{(namespace or '').rstrip('/')}/{name}" if known else "/**"
        for key, value in context.launch_configurations.get("global_params", ()):
            cmd += ["-p", f"{key}:={value}"]
        for entry in self._parameters:
            path = self._parameter_file(context, entry)
            if path is not None:
                cmd += ["--params-file", path]
        for source, target in self._remappings:
            cmd += ["-r", f"{perform_any(context, source)}:={perform_any(context, target)}"]
        return cmd

    def _parameter_file(self, context: LaunchContext, entry: Any) -> str | None:
        if isinstance(entry, Mapping):
            return _write_parameters(self.node_name, evaluate_parameters(context, entry))
        if not isinstance(entry, ParameterFile | str | os.PathLike | Iterable) and not hasattr(
            entry, "perform"
        ):
            raise FeatureRefusedError(
                f"a {type(entry).__name__} in launch_ros.actions.Node(parameters=...)"
            )
        file = entry if isinstance(entry, ParameterFile) else ParameterFile(entry)
        path = file.evaluate(context)
        if not path.is_file():
            get_logger("launch_ros.actions.node").warning(
                f"Parameter file path is not a file: {path}"
            )
            return None
        return str(path)


def _write_parameters(node: str, parameters: Parameters) -> str:
    with NamedTemporaryFile("w", prefix="launch_params_", delete=False, encoding="utf-8") as file:
        yaml.dump({node: {"ros__parameters": parameters}}, file, default_flow_style=False)
    atexit.register(_remove, file.name)
    return file.name


def _remove(path: str) -> None:
    with contextlib.suppress(OSError):
        os.unlink(path)


class PushRosNamespace(Action):
    """Adds a namespace to all nodes that follow in the same group."""

    def __init__(self, namespace: SomeSubstitutionsType, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.namespace = namespace

    def execute(self, context: LaunchContext) -> None:
        """Join it to the one already pushed."""
        before = context.launch_configurations.get("ros_namespace")
        namespace = join_namespace(before, perform_any(context, self.namespace))
        _check("namespace", namespace or "/", r"/|(/[A-Za-z_]\w*)+")
        context.launch_configurations["ros_namespace"] = namespace


PushROSNamespace = PushRosNamespace


class SetParameter(Action):
    """Gives a parameter to all nodes that follow in the same group."""

    def __init__(self, name: SomeSubstitutionsType, value: Any, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._name, self._value = name, value

    def execute(self, context: LaunchContext) -> None:
        """Add it to those already set."""
        name = perform_any(context, self._name)
        value = evaluate_parameters(context, {name: self._value})
        # The real one extends the list in place: in a group, after an outer SetParameter, it leaks.
        context.launch_configurations.setdefault("global_params", []).extend(value.items())


__all__ = ["Node", "PushROSNamespace", "PushRosNamespace", "SetParameter"]
__getattr__ = refusing_getattr(__name__)
