"""What the axes of a Keras weight mean: along which its layer's output units lie, and the gates of recurrent cells."""

import re
from typing import Any, List, NamedTuple, Optional, Tuple

from ..elements import GRU_GATES, LSTM_GATES

# tf.nn.rnn_cell orders its columns i, j, f, o and r, u; its GRU has the candidate in a kernel of its own.
_RNN_CELL_LSTM = ("input", "cell", "forget", "output")
_RNN_CELL_GRU = {"gate": ("reset", "update"), "candidate": ("candidate",)}

_LAST_AXIS = frozenset(("kernel", "recurrent_kernel", "pointwise_kernel", "bias", "embeddings"))
_NORMALIZATION = frozenset(("gamma", "beta", "moving_mean", "moving_variance"))
_GATED = frozenset(("kernel", "recurrent_kernel", "bias"))


class Meaning(NamedTuple):
    """The fields of a `Weight` row of those names."""

    unit_axis: Any = None
    whole_for_units: bool = False
    gates: Optional[Tuple[str, ...]] = None


def meaning(layer: Any, role: str, rank: int) -> Meaning:
    """What the axes of a weight mean that its layer itself holds."""
    names = [base.__name__ for base in type(layer).__mro__]
    if "EinsumDense" in names:
        return Meaning(_einsum_axis(layer, role))
    if role == "depthwise_kernel":
        # Every filter of a separable convolution is a mixture of all that this one makes.
        return Meaning(None, True) if any("Separable" in name for name in names) else Meaning((-2, -1))
    if role == "kernel" and any("Transpose" in name for name in names):
        return Meaning(-2)
    if role in _NORMALIZATION:
        return Meaning(-1 if rank < 2 else tuple(range(rank)))
    gates = _gates(names, role)
    if gates is not None or role in _LAST_AXIS:
        return Meaning(-1, gates=gates)
    return Meaning()


def head_axis(attention: Any, child: Any, role: str) -> Optional[int]:
    """The axis along which the heads of an attention layer lie in a weight of one of its projections; None if in none."""
    names = [base.__name__ for base in type(attention).__mro__]
    if "MultiHeadAttention" not in names:
        return None
    if child is getattr(attention, "_output_dense", None):
        return 0 if role == "kernel" else None
    inputs = [getattr(attention, name, None) for name in ("_query_dense", "_key_dense", "_value_dense")]
    return -2 if any(child is one for one in inputs) and role in ("kernel", "bias") else None


def _gates(names: List[str], role: str) -> Optional[Tuple[str, ...]]:
    in_rnn_cell = "RNNCell" in names  # the base class in tf.nn.rnn_cell; Keras has none of that name
    if in_rnn_cell:
        part = role.rpartition("_")[0]
        if part in _RNN_CELL_GRU:
            return _RNN_CELL_GRU[part]
        is_lstm = any(re.search("LSTM.*Cell$", name) for name in names)
        return _RNN_CELL_LSTM if is_lstm and role in ("kernel", "bias") else None
    if role not in _GATED:
        return None
    twice = 2 if role == "bias" and any(name.startswith("CuDNN") for name in names) else 1  # one for each kernel
    if any(re.search("LSTM.*Cell$|^CuDNNLSTM$", name) for name in names):
        return LSTM_GATES * twice
    if any(re.search("GRUCell$|^CuDNNGRU$", name) for name in names):
        return GRU_GATES * twice
    return None


def _einsum_axis(layer: Any, role: str) -> Any:
    """The axes of the kernel that reach the output and not the input, those without a bias entry of their own left out."""
    inputs, kernel, output = re.split(",|->", layer.equation.replace(".", "").replace(" ", ""))
    units = [letter for letter in output if letter in kernel and letter not in inputs]
    biased = [letter for letter in units if letter in (layer.bias_axes or "")]
    units = biased or units
    if role == "kernel":
        axes = tuple(kernel.index(letter) for letter in units)
    elif role == "bias" and biased:
        first = min(output.index(letter) for letter in layer.bias_axes)
        axes = tuple(output[first:].index(letter) for letter in units)
    else:
        return None
    return (axes[0] if len(axes) == 1 else axes) if axes else None
