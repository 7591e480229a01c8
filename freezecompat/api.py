"""The functions of the package: freeze, list_weights, detect_backend, run_parity."""

from typing import Any, Dict, List

from . import _detect
from .backends.attachments import optimizers_in
from .backends.targets import describe
from .exceptions import ArgumentError
from .frozen import Frozen
from .resolve import Weight
from .spec import FreezeSpec


def freeze(target: Any, spec: Any, *, optimizer: Any = None, session: Any = None) -> Frozen:
    """Hold single elements of a target's weights, bit for bit, and train the rest.

    Args:
        target: a Keras model or layer, a tf.Module, a list of variables, or a dict of name to variable. None in a TF1
            graph, with `optimizer`: the graph's trainable variables.
        spec: what `FreezeSpec` takes: `{address: elements}` or pairs. `FreezeSpec.empty()` attaches and freezes nothing
            yet.
        optimizer: the optimizer, or list of optimizers, that train. Default: the one that the model is compiled with,
            now or later.
        session: in a TF1 graph, the session whose values and state are meant; by default the default session.

    Returns:
        A `Frozen`. With no optimizer yet it is NOT ATTACHED until `attach`, `hold` or, for a model, `compile`.

    Raises:
        UnknownWeight, AmbiguousWeight, ElementIndexError, SpecTypeError, SpecValueError: the spec does not fit.
        UnbuiltModel: the model has no weights yet.
        NotAnOptimizer: `optimizer` is none.
        GraphAlreadyBuilt: the graph has an update of a weight already that can't be reached.
        ArgumentError: the target is of no supported kind, or a session is needed.

    Example (with TensorFlow):
        >>> import freezecompat as fc
        >>> frozen = fc.freeze(model, {"hidden/kernel": [(1, 2), (3, 1)]})  # doctest: +SKIP
        >>> model.fit(x, y)                                                 # doctest: +SKIP
        >>> frozen.verify()                                                 # doctest: +SKIP
    """
    spec = FreezeSpec(spec)
    optimizers = optimizers_in(optimizer)
    found = describe(target)
    if target is None and not optimizers:
        raise ArgumentError("target=None needs optimizer=: the graph's trainable variables are frozen under it")
    return Frozen(found, spec, optimizers, session)


def list_weights(target: Any) -> List[Weight]:
    """List the weights of a target, with the addresses that a spec may use.

    Args:
        target: as for `freeze`.

    Returns:
        Rows with `address`, `shape`, `dtype`, `trainable`, `name` (the native one) and `ordinal` (the k of "#k", None for
        a weight that is not trained), and what the mask core needs besides.
    """
    return describe(target).rows


def detect_backend(obj: Any = None) -> _detect.Backend:
    """Say what runs here, from what is imported already; imports nothing.

    Args:
        obj: a model, layer, variable or optimizer; None: the interpreter as it is.

    Returns:
        A row with `tensorflow` (version), `keras` (generation and version), `mode` ("eager" or "graph") and `adapter`
        ("tf1" or "keras"); each None where TensorFlow is not imported.

    Example:
        >>> import freezecompat as fc
        >>> sorted(fc.detect_backend()._asdict())
        ['adapter', 'keras', 'mode', 'tensorflow']
    """
    return _detect.detect(obj)


def run_parity(experiment: Any, **options: Any) -> Dict[str, Any]:
    """Train one experiment under several APIs, one process each, and compare what they made of the weights.

    Args:
        experiment: "problem-1", "problem-2", or the path of a file that defines an experiment.
        **options: `pythons`, `apis`, `timeout`, `logs` and `progress` of `freezecompat.parity.run_parity`, which says all about it.

    Returns:
        Plain data: `{"runs": [...], "pairs": [...], "passed": bool, ...}`.
    """
    from .parity import run_parity as run  # only here: importing freezecompat stays cheap

    return run(experiment, **options)
