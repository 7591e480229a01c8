"""Faults that users of the first days ran into in graphs."""

import numpy as np
import pytest
import tensorflow as tf

import freezecompat as fc

v1 = tf.compat.v1


@pytest.mark.parametrize("use_resource", [True, False], ids=["resource", "reference"])
def test_sessions_are_told_outside_of_the_graph_context(use_resource):
    """Slots are reset although another graph is the default one."""
    graph = tf.Graph()
    with graph.as_default():
        variable = v1.get_variable("v", initializer=np.ones((2, 2), "f4"), use_resource=use_resource)
        optimizer = v1.train.MomentumOptimizer(0.1, 0.9)
        frozen = fc.freeze([variable], {"v": (0, 1)}, optimizer=optimizer)
        train_op = optimizer.minimize(tf.reduce_sum(tf.square(variable)))
        init = v1.global_variables_initializer()
    with v1.Session(graph=graph) as session:
        session.run(init)
        session.run(train_op)
    with v1.Session(graph=graph) as session:
        session.run(init)
        session.run(train_op)
        with tf.Graph().as_default():
            frozen.thaw(session=session)
            frozen.freeze({"v": (1, 0)}, session=session)
        before = session.run(variable)
        session.run(train_op)
        moved = session.run(variable) != before
        assert moved.tolist() == [[True, True], [False, True]]
        assert session.run(optimizer.get_slot(variable, "momentum"))[1, 0] == 0
        frozen.verify(session=session)


def test_the_session_hook_of_a_released_freeze():
    """A session that is made after the release gets nothing frozen, and no error."""
    variable = v1.get_variable("v", initializer=np.ones((2, 2), "f4"))
    optimizer = v1.train.GradientDescentOptimizer(0.1)
    frozen = fc.freeze(None, {"v": (0, 1)}, optimizer=optimizer)
    v1.train.get_or_create_global_step()
    train_op = optimizer.minimize(tf.reduce_sum(tf.square(variable)))
    hook = frozen.session_hook()
    frozen.release()
    with v1.train.MonitoredTrainingSession(hooks=[hook]) as session:
        session.run(train_op)
        assert (session.run(variable) != 1).all()
