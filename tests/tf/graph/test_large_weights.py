"""Weights of which a step in a graph looks at the frozen elements alone, where those are few."""

import collections
import re

import numpy as np
import pytest
import tensorflow as tf

import freezecompat as fc
from graph_kit import KINDS, OPTIMIZERS, v1

SHAPE = (300, 300)
FEW = [(0, 0), (3, 299), (150, 7), (299, 299)]
MANY = (slice(0, 200), slice(10, 290))
MAKE = dict(OPTIMIZERS, ftrl=lambda: v1.train.FtrlOptimizer(0.5))  # which rebuilds frozen elements
START = np.sin(np.arange(90000, dtype="f4")).reshape(SHAPE)


def gradient(step):
    return np.cos(np.arange(90000, dtype="f4") * (step + 1)).reshape(SHAPE)


def mask(*places):
    mask = np.zeros(SHAPE, bool)
    for place in places:
        mask[place] = True
    return mask


class Pair:
    """A weight and a plain one, stepped side by side."""

    def __init__(self, kind, make, spec=None, **options):
        self.weight = v1.get_variable("w", initializer=START, use_resource=kind == "resource", **options)
        self.plain = v1.get_variable("v", initializer=START, use_resource=kind == "resource")
        self.gradient = v1.placeholder(tf.float32, SHAPE)
        optimizer = make()
        spec = fc.FreezeSpec.empty() if spec is None else {"w": spec}
        self.frozen = fc.freeze([self.weight], spec, optimizer=optimizer)
        self.step = optimizer.apply_gradients([(self.gradient, self.weight)])
        self.plain_step = make().apply_gradients([(self.gradient, self.plain)])
        self.ever = np.zeros(SHAPE, bool)
        self.steps = 0

    def session(self):
        session = v1.Session()
        session.run(v1.global_variables_initializer())
        self.ever[:], self.steps = False, 0
        return session

    def train_held(self, session, held, steps=2):
        """The held elements have their bytes, and those that were never held the bytes of the plain weight."""
        self.ever |= held
        for _ in range(steps):
            before, old = session.run([self.weight, self.plain])
            session.run([self.step, self.plain_step], {self.gradient: gradient(self.steps)})
            now, expected = session.run([self.weight, self.plain])
            assert now[held].tobytes() == before[held].tobytes()
            assert now[~self.ever].tobytes() == expected[~self.ever].tobytes()
            assert (now[~held] != before[~held]).mean() > 0.9 and (expected != old).mean() > 0.9
            self.steps += 1


@pytest.mark.parametrize("kind", sorted(KINDS))
@pytest.mark.parametrize("optimizer", sorted(MAKE))
def test_few_and_many_in_turn_in_one_session(kind, optimizer):
    pair = Pair(kind, MAKE[optimizer], FEW)
    few, many, none = mask(*FEW), mask(MANY), mask()
    with pair.session() as session:
        pair.train_held(session, few)
        pair.frozen.verify(session=session)  # against the values that the first step found
        pair.frozen.freeze({"w": MANY}, session=session)
        pair.train_held(session, many | few)
        pair.frozen.thaw({"w": MANY}, session=session)
        pair.frozen.freeze({"w": FEW}, session=session)
        pair.train_held(session, few)
        pair.frozen.verify(session=session)
        pair.frozen.thaw(session=session)
        pair.train_held(session, none)
        pair.frozen.release(session=session)
    # A session that begins after a release has nothing frozen, whatever was when the graph was built.
    with pair.session() as session:
        pair.train_held(session, none)


@pytest.mark.parametrize("spec, held", [(FEW, mask(*FEW)), (MANY, mask(MANY))], ids=["few", "many"])
def test_each_session_begins_with_what_was_frozen_when_the_graph_was_built(spec, held):
    pair = Pair("resource", MAKE["ftrl"], spec)
    for _ in range(2):
        with pair.session() as session:
            pair.train_held(session, held)
            pair.frozen.verify(session=session)


@pytest.mark.parametrize("spec, held", [(FEW, mask(*FEW)), (MANY, mask(MANY))], ids=["few", "many"])
def test_a_constraint_sees_the_held_values(spec, held):
    """The weights' mean counts the held values; Ftrl has moved them when the constraint is called."""
    pair = Pair("resource", MAKE["ftrl"], spec, constraint=lambda w: w - tf.reduce_mean(w))
    with pair.session() as session:
        for step in range(2):
            before, old = session.run([pair.weight, pair.plain])
            session.run([pair.step, pair.plain_step], {pair.gradient: gradient(step)})
            now, expected = session.run([pair.weight, pair.plain])
            assert now[held].tobytes() == before[held].tobytes() == START[held].tobytes()
            constrained = expected - np.where(held, START, expected).mean(dtype="f8")
            np.testing.assert_allclose(now[~held], constrained[~held], rtol=1e-4, atol=1e-5)
            session.run(pair.plain.initializer, {pair.plain.initializer.inputs[1]: np.where(held, old, now)})


def sized(step, fed, session):
    """{type: count} of the operations that a run has run with an output of the weight's size."""
    session.run(step, fed)  # the first step keeps the values
    metadata = v1.RunMetadata()
    session.run(step, fed, options=v1.RunOptions(trace_level=v1.RunOptions.FULL_TRACE), run_metadata=metadata)
    found = collections.Counter()
    for device in metadata.step_stats.dev_stats:
        for node in device.node_stats:
            kind = re.search(r"= ?(\w+)\(", node.timeline_label)
            sizes = [
                np.prod([int(dim.size) for dim in one.tensor_description.shape.dim], dtype=int) for one in node.output
            ]
            if kind is not None and START.size in sizes:
                found[kind.group(1)] += 1
    return found


@pytest.mark.parametrize("count", [0, 4, 1406, 1407])
def test_what_a_step_runs(count):
    """Up to one frozen in 64, it selects the gradient and makes nothing else of the weight's size; no pass to compare."""
    places = [(at // 300, at % 300) for at in range(0, 7 * count, 7)]
    pair = Pair("resource", MAKE["adam"], places if places else None)
    with pair.session() as session:
        fed = {pair.gradient: gradient(0)}
        added = sized(pair.step, fed, session) - sized(pair.plain_step, fed, session)
    of_the_whole = {kind for kind in added if kind in ("NotEqual", "LogicalAnd", "Where")}
    assert of_the_whole == ({"NotEqual", "LogicalAnd"} if count == 1407 else set())
    assert {kind for kind in added if kind.startswith("Select")}
