"""The functions of the package: freeze, restore, list_weights, detect_backend, run_parity."""

from typing import Any, Dict, List

from . import _detect, _frozen_file, elements
from .backends.attachments import optimizers_in
from .backends.targets import describe
from .exceptions import ArgumentError, DoesNotFit
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
    _check_has_optimizer(target, optimizers)
    return Frozen(found, spec, optimizers, session)


def _check_has_optimizer(target: Any, optimizers: List[Any]) -> None:
    if target is None and not optimizers:
        raise ArgumentError("target=None needs optimizer=: the graph's trainable variables are frozen under it")


def restore(
    target: Any, path: Any, *, optimizer: Any = None, session: Any = None, accept_differing: bool = False
) -> Frozen:
    """Freeze again what `frozen.save(path)` saved, after a model was built and loaded anew.

    The slots of the optimizer are left as they are: those of a checkpoint are the right ones. In a TF1 graph this may stand
    before `minimize`, without a session, for one that will be restored from a checkpoint (MonitoredTrainingSession): then
    the values can't be compared. A schedule goes on where it was: `schedule.on(frozen)`.

    Args:
        target: as for `freeze`, with the weights that were frozen: the same addresses, shapes and dtypes.
        path: the file.
        optimizer, session: as for `freeze`.
        accept_differing: where present values differ from the held ones of the file, put those back instead of refusing.

    Returns:
        A `Frozen` of the same elements, each with the bytes that were saved.

    Raises:
        FileNotFoundError: there is no such file.
        SpecValueError: it is no file of `frozen.save`.
        DoesNotFit: a weight is missing, of another shape or dtype, or holds other values; nothing is frozen.
        Otherwise as `freeze`.

    Example (with TensorFlow):
        >>> model.load_weights("model.weights.h5")           # doctest: +SKIP
        >>> frozen = fc.restore(model, "frozen.npz")         # doctest: +SKIP
    """
    saved = _frozen_file.read(path)
    optimizers = optimizers_in(optimizer)
    found = describe(target)
    _check_has_optimizer(target, optimizers)
    lines = _frozen_file.mismatches(saved, found.rows)
    if lines:
        raise DoesNotFit("{} was saved of other weights:\n  {}".format(path, "\n  ".join(lines)))
    session = found.session(session)
    present, apart = {}, {}
    if session is not None or not found.waits_for_session:
        present = {weight.address: found.read(weight.address, session) for weight in saved.weights}
        apart = _frozen_file.differing(saved, present.__getitem__)
    if apart and not accept_differing:
        raise DoesNotFit(
            "{} holds other values than the target; load the weights first, or put the saved ones back with "
            "accept_differing=True:\n  {}".format(path, "\n  ".join(apart.values()))
        )
    pairs = []
    for weight in saved.weights:
        chosen: elements.Element = elements.mask(weight.elements.dense())
        if weight.address in apart:
            chosen = elements.pin(chosen, weight.values(present[weight.address].dtype))
        pairs.append((weight.address, chosen))
    spec = FreezeSpec(pairs) if pairs else FreezeSpec.empty()
    frozen = Frozen(found, spec, optimizers, session, slots_are_right=True)
    frozen.schedule_done = lambda: saved.schedule_done
    return frozen


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
