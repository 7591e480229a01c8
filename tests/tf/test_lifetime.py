"""Nothing of ours keeps a model, an optimizer or a graph alive."""

import gc
import weakref

import pytest
import tensorflow as tf

import freezecompat as fc
import runtimes

RUNTIMES = runtimes.runtimes()
KINDS = ["tf1-eager-adam", "graph-resource-adam", "graph-reference-adam"]
KINDS += [name for name in RUNTIMES if name.endswith(("keras-fit-adam", "keras3-fit-adam")) and tf.executing_eagerly()]


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind in RUNTIMES])
@pytest.mark.parametrize("released", [True, False], ids=["released", "never released"])
def test_what_nobody_refers_to_is_collected(kind, released):
    """After a freeze and a step, dropping the program lets its optimizer and its graph go, released or not."""
    with tf.Graph().as_default() if not tf.executing_eagerly() else tf.name_scope("here"):
        program = RUNTIMES[kind]()
        frozen = fc.freeze(program.target, {"kernel": (0, 0)}, optimizer=program.optimizer, session=program.session)
        program.train(0)
        if released:
            frozen.release(session=program.session)
        if program.session:
            program.session.close()
        watched = [weakref.ref(program.optimizer), weakref.ref(frozen)]
        if not tf.executing_eagerly():
            watched.append(weakref.ref(tf.compat.v1.get_default_graph()))
        del program, frozen
    if tf.executing_eagerly():
        tf.keras.backend.clear_session()
    gc.collect()
    gc.collect()
    assert [reference() for reference in watched] == [None] * len(watched)
