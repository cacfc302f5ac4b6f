# SPDX-License-Identifier: Apache-2.0
"""Calls MuJoCo's C functions from compiled kernels, so that servo and arm step together in C."""

from __future__ import annotations

import ctypes
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
from llvmlite import ir
from numba.core import cgutils, types

from na_sim.servo.jit import intrinsic


def _library() -> ctypes.CDLL:
    """The libmujoco that the Python package has already loaded."""
    folder = Path(mujoco.__file__).parent
    found = sorted(folder.glob("libmujoco.so*")) + sorted(folder.glob("libmujoco*.dylib"))
    if not found:
        raise ImportError(
            f"no libmujoco in {folder}: expected a mujoco wheel with its shared library; "
            "reinstall the package mujoco"
        )
    return ctypes.CDLL(str(found[0]))


def function_address(name: str) -> int:
    """Address of the C function `name` of libmujoco."""
    return int(ctypes.cast(getattr(_library(), name), ctypes.c_void_p).value or 0)


def step_address() -> int:
    """Address of mj_step(const mjModel*, mjData*)."""
    return function_address("mj_step")


@intrinsic
def call_step(typingctx: Any, address: Any, model: Any, data: Any) -> Any:
    """Call the void(model*, data*) function at `address`, all three given as int64."""
    signature = types.void(types.int64, types.int64, types.int64)

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        pointer = ir.IntType(8).as_pointer()
        prototype = ir.FunctionType(ir.VoidType(), [pointer, pointer]).as_pointer()
        function = builder.inttoptr(args[0], prototype)
        builder.call(
            function, [builder.inttoptr(args[1], pointer), builder.inttoptr(args[2], pointer)]
        )
        return context.get_dummy_value()

    return signature, codegen


@intrinsic
def load(typingctx: Any, address: Any, index: Any) -> Any:
    """Read double number `index` at int64 `address`."""
    signature = types.float64(types.int64, types.int64)

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        base = builder.inttoptr(args[0], ir.DoubleType().as_pointer())
        return builder.load(cgutils.gep(builder, base, args[1]))

    return signature, codegen


@intrinsic
def store(typingctx: Any, address: Any, index: Any, value: Any) -> Any:
    """Write double number `index` at int64 `address`."""
    signature = types.void(types.int64, types.int64, types.float64)

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        base = builder.inttoptr(args[0], ir.DoubleType().as_pointer())
        builder.store(args[2], cgutils.gep(builder, base, args[1]))
        return context.get_dummy_value()

    return signature, codegen


def array_address(array: np.ndarray[Any, Any]) -> int:
    """Address of the first element of a contiguous float64 array that MuJoCo owns."""
    if array.dtype != np.float64 or not array.flags.c_contiguous:
        raise ValueError(
            f"expected a contiguous float64 array, got {array.dtype} with strides {array.strides}"
        )
    return int(array.ctypes.data)
