# SPDX-License-Identifier: Apache-2.0
"""Runs a graph tick by tick into buffers that were bound once: whole window, or cached tokens."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
import onnxruntime
from numpy.typing import NDArray

from na_core.onnx_metadata import INPUT, OUTPUTS, STATE_INPUT, STATE_OUTPUT, ModelMetadata

Float32 = NDArray[np.float32]
Outputs = dict[str, Float32]


def new_session(
    model: bytes | str, *, threads: int = 1, spinning: bool = False, fixed_batch: bool = False
) -> onnxruntime.InferenceSession:
    """Return a session on the processor.

    Args:
        model: file content, or a path.
        threads: threads of one operator; one is fastest for a single tick.
        spinning: whether idle threads burn time waiting for work.
        fixed_batch: promise that the batch is always one, so that shapes are worked out here.
    """
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.execution_mode = onnxruntime.ExecutionMode.ORT_SEQUENTIAL
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL
    options.add_session_config_entry("session.intra_op.allow_spinning", "1" if spinning else "0")
    options.add_session_config_entry("session.inter_op.allow_spinning", "0")
    options.log_severity_level = 3
    if fixed_batch:
        options.add_free_dimension_override_by_name("batch", 1)
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


class Runner(Protocol):
    """Takes one tick of features after the other.

    Attributes:
        outputs: results of the last run by name, each without its batch axis; the same memory at
            every tick, so copy what is to be kept.
    """

    outputs: Outputs

    def push(self, features: NDArray[np.float64]) -> None:
        """Take the features (F,) of one tick into account and compute the outputs."""

    def reset(self) -> None:
        """Forget all ticks; the outputs mean something again after a full window."""


def _bind(binding: Any, name: str, array: Float32, *, output: bool = False) -> None:
    bind = binding.bind_output if output else binding.bind_input
    bind(name, "cpu", 0, np.float32, array.shape, array.ctypes.data)


def _output_buffers(metadata: ModelMetadata) -> Outputs:
    n = metadata.n
    sizes = {"effort": n, "force": 3, "gate": 1, "condition": n, "log_variance": 3}
    return {name: np.zeros((1, sizes[name]), dtype=np.float32) for name in OUTPUTS}


class WindowRunner:
    """The stateless graph: all ticks of the window are computed anew at every tick.

    Features lie in a ring that is written twice, so that the window is one piece of memory at every
    tick; there is one binding per place of the ring and nothing is moved or allocated.
    """

    def __init__(self, session: onnxruntime.InferenceSession, metadata: ModelMetadata) -> None:
        self._session = session
        self._window = metadata.window
        self._ring = np.zeros((2 * self._window, metadata.features), dtype=np.float32)
        buffers = _output_buffers(metadata)
        self.outputs = {name: array[0] for name, array in buffers.items()}
        self._bindings = []
        for place in range(self._window):
            binding = session.io_binding()
            rows = self._ring[place + 1 : place + 1 + self._window]
            _bind(binding, INPUT, rows[None])
            for name, array in buffers.items():
                _bind(binding, name, array, output=True)
            self._bindings.append(binding)
        self._place = 0
        self._run = session.run_with_iobinding

    def push(self, features: NDArray[np.float64]) -> None:
        place = self._place
        self._ring[place] = features
        self._ring[place + self._window] = features
        self._run(self._bindings[place])
        self._place = (place + 1) % self._window

    def reset(self) -> None:
        self._ring[:] = 0.0


class StreamRunner:
    """The streaming graph: a tick costs one token; those of the ticks before are kept.

    Tokens alternate between two buffers, one read and one written, through two bindings.
    """

    def __init__(self, session: onnxruntime.InferenceSession, metadata: ModelMetadata) -> None:
        shape = next(item.shape for item in session.get_inputs() if item.name == STATE_INPUT)
        self._features = np.zeros((1, metadata.features), dtype=np.float32)
        self._tokens = [np.zeros((1, shape[1], shape[2]), dtype=np.float32) for _ in range(2)]
        buffers = _output_buffers(metadata)
        self.outputs = {name: array[0] for name, array in buffers.items()}
        self._bindings = []
        for turn in range(2):
            binding = session.io_binding()
            _bind(binding, INPUT, self._features)
            _bind(binding, STATE_INPUT, self._tokens[turn])
            _bind(binding, STATE_OUTPUT, self._tokens[1 - turn], output=True)
            for name, array in buffers.items():
                _bind(binding, name, array, output=True)
            self._bindings.append(binding)
        self._turn = 0
        self._run = session.run_with_iobinding

    def push(self, features: NDArray[np.float64]) -> None:
        self._features[0] = features
        self._run(self._bindings[self._turn])
        self._turn = 1 - self._turn

    def reset(self) -> None:
        for tokens in self._tokens:
            tokens[:] = 0.0
