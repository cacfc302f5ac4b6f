# SPDX-License-Identifier: Apache-2.0
"""ONNX export with complete metadata, parity check and model card."""
