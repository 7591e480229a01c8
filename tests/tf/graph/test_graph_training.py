"""A freeze in a TF1 graph: what a step does, and what it leaves alone."""

import numpy as np
import pytest
import tensorflow as tf

import freezecompat as fc
import graph_kit
import programs
from freezecompat import tf1
from graph_kit import KINDS, MASKS, OPTIMIZERS, v1

FIRST_KERNEL = np.array([[0.0, 0.25], [0.2, 0.3]], "f4")
OTHERS = [np.array([0.35, 0.35], "f4"), np.array([[0.4, 0.5], [0.45, 0.55]], "f4"), np.array([0.6, 0.6], "f4")]
FEATURES, LABELS = np.array([[0.05, 0.10]], "f4"), np.array([[0.01, 0.99]], "f4")


@pytest.fixture(params=sorted(KINDS))
def kind(request):
    return KINDS[request.param]


@pytest.mark.parametrize("start", [0.0, 2.0])
@pytest.mark.parametrize("use_resource", [True, False], ids=["resource", "reference"])
def test_problem_1_as_a_graph_with_a_session(start, use_resource):
    """kernel[0, 0] keeps its bytes over ten steps, the eleven other elements train, global_step is at 10."""
    initial = [np.array([[start, 0.25], [0.2, 0.3]], "f4")] + OTHERS
    weights = [tf1.Variable(a, use_resource=use_resource) for a in initial]
    hidden = tf1.sigmoid(tf1.matmul(FEATURES, weights[0]) + weights[1])
    loss = tf1.losses.mean_squared_error(LABELS, tf1.sigmoid(tf1.matmul(hidden, weights[2]) + weights[3]))
    optimizer = tf1.train.GradientDescentOptimizer(learning_rate=0.01)
    global_step = tf1.train.get_or_create_global_step()
    frozen = fc.freeze(weights, [("#0", (0, 0))], optimizer=optimizer)
    train_op = optimizer.minimize(loss, global_step=global_step)
    with tf1.Session() as session:
        session.run(tf1.global_variables_initializer())
        for _ in range(10):
            session.run(train_op)
        frozen.verify()
        after = session.run(weights)
        assert session.run(global_step) == 10
    assert after[0][0, 0].tobytes() == np.float32(start).tobytes()
    moved = [now != before for now, before in zip(after, initial)]
    moved[0][0, 0] = True
    assert all(one.all() for one in moved)


def test_freeze_attach_thaw_and_release_add_no_op():
    """Before the train op is built the graph stays as it was, whatever is called."""
    program = programs.Graph(graph_kit.adam())
    program.session.run(v1.global_variables_initializer())
    graph = v1.get_default_graph()
    before = len(graph.get_operations())
    frozen = fc.freeze(program.target, MASKS, optimizer=program.optimizer, session=program.session)
    frozen.attach(graph_kit.adam())
    frozen.freeze({"mix": "all"}, session=program.session)
    frozen.thaw({"mix": "all"}, session=program.session)
    frozen.sync(program.session).rebase(program.session).verify(program.session)
    frozen.report(program.session)
    frozen.release(session=program.session)
    assert len(graph.get_operations()) == before


def _random_ops_after(freeze):
    with tf.Graph().as_default():
        v1.set_random_seed(1)
        kernel = v1.get_variable("kernel", (4, 3), initializer=v1.random_normal_initializer())
        optimizer = graph_kit.adam()
        if freeze:
            fc.freeze([kernel], {"kernel": (1, 2)}, optimizer=optimizer).attach(graph_kit.adam())
        late = v1.get_variable("late", (4, 3), initializer=v1.random_normal_initializer())
        noise = v1.random_uniform((3,))
        optimizer.minimize(tf.reduce_sum(tf.matmul(kernel, late, transpose_b=True)))
        with v1.Session() as session:
            session.run(v1.global_variables_initializer())
            return session.run([kernel, late, noise])


def test_random_ops_built_after_freeze_draw_what_they_draw_without():
    """Initial values and random streams of ops built after freeze() and attach() keep their bytes."""
    for with_us, without in zip(_random_ops_after(True), _random_ops_after(False)):
        assert with_us.tobytes() == without.tobytes()


STEPPED = {
    "adam": graph_kit.adam,
    "ftrl": lambda: v1.train.FtrlOptimizer(0.1),  # moves an element whose gradient is 0: each step has to be corrected
}


@pytest.mark.parametrize("optimizer", sorted(STEPPED))
def test_exact_and_the_oracle_in_200_of_200_steps(kind, optimizer):
    """Frozen under a warm optimizer: in each of 200 steps all bytes are the oracle's, and the free elements move."""
    program, frozen = graph_kit.frozen_program(kind, STEPPED[optimizer])
    oracle = kind(STEPPED[optimizer](), oracle=True)
    graph_kit.train_beside(program, oracle, range(5), {})
    frozen.freeze(MASKS, session=program.session)
    oracle.set_frozen(MASKS)
    graph_kit.train_beside(program, oracle, range(5, 205))
    frozen.verify(session=program.session)


def test_global_step_advances_once_a_run(kind):
    """global_step is passed on and advances by exactly one a run."""
    program, _ = graph_kit.frozen_program(kind, spec=MASKS)
    before = program.values()
    for step in range(7):
        program.train(step)
        assert program.session.run(program.global_step) == step + 1
    graph_kit.assert_held_and_free_moved(before, program.values())


def test_the_train_op_has_its_name_and_its_place_in_the_collection():
    """minimize(name=...) returns an op of that name, alone in TRAIN_OP, and running it by name does the whole step."""
    program = programs.Graph(graph_kit.adam())
    frozen = fc.freeze(program.target, MASKS, optimizer=program.optimizer)
    step = v1.train.get_or_create_global_step()
    train_op = program.optimizer.minimize(program.loss, global_step=step, name="one_step")
    assert train_op.name == "one_step"
    assert v1.get_collection(v1.GraphKeys.TRAIN_OP) == [train_op]
    session = program.session
    session.run(v1.global_variables_initializer())
    before = program.values()
    inputs, y = programs.BATCHES[0]
    for k in range(5):
        inputs, y = programs.BATCHES[k]
        session.run("one_step", {program.inputs: inputs, program.y: y})
    assert session.run(step) == 5
    graph_kit.assert_held_and_free_moved(before, program.values())
    frozen.verify(session)


@pytest.mark.parametrize("with_step", [True, False], ids=["global_step", "no_global_step"])
def test_the_train_op_is_what_it_is_without_us(with_step):
    """Class, name and collection of the op that apply_gradients returns are the stock ones."""

    def build(freeze):
        with tf.Graph().as_default():
            program = programs.Graph(graph_kit.adam())
            if freeze:
                fc.freeze(program.target, MASKS, optimizer=program.optimizer)
            step = v1.train.get_or_create_global_step() if with_step else None
            op = program.optimizer.minimize(program.loss, global_step=step)
            in_collection = v1.get_collection(v1.GraphKeys.TRAIN_OP)
            return type(op), op.name, [one.name for one in in_collection]

    assert build(True) == build(False)


def test_a_finalized_graph_is_frozen_and_thawed(kind):
    """freeze, thaw, release, verify and report need no new op once the train op is built."""
    program, frozen = graph_kit.frozen_program(kind)
    program.session.graph.finalize()
    graph_kit.train(program, range(3))
    session = program.session
    frozen.freeze(MASKS, session=session)
    before = program.values()
    graph_kit.train(program, range(3, 6))
    graph_kit.assert_held_and_free_moved(before, program.values())
    frozen.verify(session)
    assert frozen.report(session).to_dict()["weights"][0]["moved"] == 0
    frozen.thaw(session=session)
    before = program.values()
    graph_kit.train(program, range(6, 8))
    graph_kit.assert_held_and_free_moved(before, program.values(), {})
    frozen.sync(session).rebase(session)
    frozen.release(session=session)
    graph_kit.train(program, [8])


def _trained(freeze, directory):
    """Names in the collections, and the checkpoint, of a program trained for 3 steps."""
    with tf.Graph().as_default():
        program = programs.Graph(graph_kit.adam())
        if freeze:
            fc.freeze(program.target, fc.FreezeSpec.empty(), optimizer=program.optimizer)
        program.finish()
        keys = sorted(set(v1.get_default_graph().get_all_collection_keys()) - {"cond_context"})
        names = [[one.name for one in v1.get_collection(key)] for key in keys]
        saver = v1.train.Saver()
        graph_kit.train(program, range(3))
        path = saver.save(program.session, str(directory / "model"), write_meta_graph=False)
    reader = v1.train.NewCheckpointReader(path)
    stored = {name: reader.get_tensor(name).tobytes() for name in sorted(reader.get_variable_to_shape_map())}
    return keys, names, stored


def test_collections_and_checkpoint_are_those_without_us(tmp_path):
    """A plain initializer is enough; variable collections, checkpoint names and bytes are those without a freeze."""
    (tmp_path / "with").mkdir()
    (tmp_path / "without").mkdir()
    assert _trained(True, tmp_path / "with") == _trained(False, tmp_path / "without")


def test_inside_a_cond():
    """A train op built inside tf.cond holds the elements in the steps that are taken, and takes none otherwise."""
    program = programs.Graph(graph_kit.OPTIMIZERS["sgd"]())
    frozen = fc.freeze(program.target, MASKS, optimizer=program.optimizer)
    go = v1.placeholder(tf.bool, [])

    def step():
        with tf.control_dependencies([program.optimizer.minimize(program.loss)]):
            return tf.constant(1)

    stepped = v1.cond(go, step, lambda: tf.constant(0))
    session = program.session
    session.run(v1.global_variables_initializer())
    before = program.values()

    def run(k, taken):
        inputs, y = programs.BATCHES[k]
        return session.run(stepped, {program.inputs: inputs, program.y: y, go: taken})

    assert run(0, False) == 0
    assert all(program.values()[name].tobytes() == before[name].tobytes() for name in before)
    for k in range(4):
        assert run(k, True) == 1
    graph_kit.assert_held_and_free_moved(before, program.values())
    frozen.verify(session)
    frozen.thaw({"kernel": "all"}, session=session)
    before = program.values()
    run(4, True)
    masks = {name: mask for name, mask in MASKS.items() if name != "kernel"}
    after = program.values()
    assert (after["kernel"] != before["kernel"]).all()
    assert after["bias"][masks["bias"]].tobytes() == before["bias"][masks["bias"]].tobytes()


@pytest.mark.parametrize("optimizer", sorted(OPTIMIZERS))
def test_two_frozens_and_two_optimizers_on_one_variable(optimizer):
    """An element is frozen under both optimizers while either Frozen holds it; thaw touches its own only."""
    start = np.array([[1.0, 2.0], [3.0, 4.0]], "f4")
    weight, other = v1.Variable(start, name="shared"), v1.Variable(start + 1, name="other")
    first, second = OPTIMIZERS[optimizer](), OPTIMIZERS[optimizer]()
    a = fc.freeze([weight], {"shared": [(0, 0), (0, 1)]}, optimizer=first)
    b = fc.freeze([weight, other], {"shared": [(0, 1), (1, 0)]}, optimizer=second)
    generator = first.minimize(tf.reduce_sum(weight * 0.3), var_list=[weight])
    discriminator = second.minimize(tf.reduce_sum(tf.square(weight) + other))
    with v1.Session() as session:
        session.run(v1.global_variables_initializer())

        def moved(*ops):
            before = session.run(weight)
            for op in ops:
                session.run(op)
            return (session.run(weight) != before).tolist()

        both = [[False, False], [False, True]]
        assert moved(generator) == both
        assert moved(discriminator) == both
        a.verify()
        a.thaw()
        assert moved(generator, discriminator) == [[True, False], [False, True]]
        b.verify()
        b.release()
        assert moved(generator) == [[True, True], [True, True]]
        assert (session.run(other) != start + 1).all()


def test_two_train_ops_on_one_variable_in_one_run():
    """Two optimizers step one weight in the same Session.run: no free update is lost, as none is without a freeze."""
    size = 100000
    weight = v1.Variable(np.zeros(size, "f4"), use_resource=True, name="w")
    optimizers = [v1.train.GradientDescentOptimizer(1.0) for _ in range(2)]
    frozen = fc.freeze([weight], {"w": (0,)}, optimizer=optimizers)
    ops = [optimizer.apply_gradients([(tf.ones([size]), weight)]) for optimizer in optimizers]
    with v1.Session() as session:
        session.run(v1.global_variables_initializer())
        for _ in range(200):
            session.run(ops)
        after = session.run(weight)
        frozen.verify()
    assert after[0] == 0 and (after[1:] == -400).all()
