"""A thousand freezes and thaws leave no growth: in graphs, variables, hooks, names and whatever Python holds."""

import collections
import gc
import weakref

import pytest
import tensorflow as tf

import freezecompat as fc
import kits
import runtimes

v1 = tf.compat.v1
SPEC = {"kernel": [(0, 0), (1, 2)], "bias": "all", "table": [(0, 1)]}
PROGRAMS = {name: make for name, make in runtimes.runtimes().items() if name.endswith("-adam")}  # it has slots
# Of those that run the same code of ours, one; the others with --every-option.
FIRST = ("tf1-eager", "graph-", "tf.keras-train_on_batch", "keras3-train_on_batch", "tf_keras-fit")


@pytest.fixture(params=sorted(PROGRAMS))
def program(request):
    """A program whose train op is built, and its Frozen, which holds nothing yet."""
    if not request.param.startswith(FIRST) and not request.config.getoption("--every-option"):
        pytest.skip("with --every-option")
    program = PROGRAMS[request.param]()
    program.frozen = freeze(program, fc.FreezeSpec.empty())
    program.train(0)
    return program


@pytest.fixture
def cycles(request):
    """Of a freeze and a thaw: growth shows in a few as in many."""
    return 500 if request.config.getoption("--every-option") else 25


def freeze(program, spec):
    return fc.freeze(program.target, spec, optimizer=program.optimizer, session=program.session)


def train_held(program):
    """One step, in which the frozen bias holds and what is free moves."""
    before = program.values()
    program.train(1)
    after = program.values()
    assert after["bias"].tobytes() == before["bias"].tobytes()
    assert (after["mix"] != before["mix"]).all()


@pytest.fixture(autouse=True, scope="module")
def older(heap_of_its_own):
    """The containers of what was there before: these are looked at too."""
    gc.unfreeze()
    OLDER[:] = containers(gc.get_objects())
    gc.freeze()
    yield
    OLDER.clear()


OLDER = []  # containers that may grow too
OLD = []  # one of them


def containers(objects):
    return [obj for obj in objects if type(obj) in (dict, list, set, tuple, collections.deque)]


def counted():
    """{what may grow: how much of it there is}."""
    gc.collect()
    gc.collect()
    objects = [obj for obj in gc.get_objects() if not is_left_by_others(obj)]
    found = collections.Counter(type(obj) for obj in objects if is_told_apart(type(obj)))
    found["objects"] = len(objects)
    found["entries of containers"] = sum(map(len, containers(objects) + OLDER))
    found["ops"] = len(v1.get_default_graph().get_operations())
    return found


def is_told_apart(cls):
    # Not issubclass(): an abstract class remembers what it was asked, which would be counted.
    bases = cls.__mro__
    return tf.Variable in bases or tf.Graph in bases or str(cls.__module__).startswith("freezecompat")


def is_left_by_others(obj):
    """TensorFlow 2.15 leaves a dead weak reference of each tf.Variable that was made; an abstract class those, with a
    callback, of the classes that it was asked about."""
    return type(obj) in (weakref.ref, type(len))


def growth(cycle, times):
    """What there is more of after `times` calls, by at least one each call; less is a cache that fills."""
    for _ in range(3):
        cycle()
    before = counted()
    for _ in range(times):
        cycle()
    return collections.Counter({what: more for what, more in (counted() - before).items() if more >= times})


def test_growth_is_seen():
    """One string, one object of ours, one variable more with each call; also what an older container keeps."""
    kept = []
    assert growth(lambda: OLD.append("x"), 30)["entries of containers"] >= 30
    assert growth(lambda: kept.append("x"), 30)["entries of containers"] >= 30
    assert growth(lambda: kept.append(fc.FreezeSpec.empty()), 30)[fc.FreezeSpec] == 30
    more = growth(lambda: kept.append(v1.Variable([1.0], use_resource=True)), 30)
    assert more[type(kept[-1])] == 30 and (runtimes.EAGER or more["ops"] >= 30)


def test_freeze_and_thaw_in_turn(program, cycles):
    """Nothing is left of them, with a step now and then; the last freeze acts."""
    count = iter(range(3 + cycles))

    def cycle():
        program.frozen.freeze(SPEC, session=program.session)
        program.frozen.thaw(session=program.session)
        if next(count) % 25 == 0:
            program.train(1)

    assert growth(cycle, cycles) == {}
    program.frozen.freeze(SPEC, session=program.session)
    train_held(program)


def test_one_frozen_after_the_other(program):
    """A freeze, a step and a release leave no more than a step does; each of them holds its elements."""
    program.frozen.release(session=program.session)

    def plain():
        program.train(1)

    def cycle():
        with freeze(program, SPEC):
            train_held(program)

    of_a_step = growth(plain, 8)
    of_a_freeze = growth(cycle, 8) - of_a_step
    # TensorFlow leaves entries in two tables of its own for each function that is traced, which each new freeze needs.
    assert {what: more for what, more in of_a_freeze.items() if more > 2 * 8} == {}


def test_frozens_that_overlap(program):
    """Each is released while a younger one lives; after the last, nothing of ours is on the optimizer or the model."""
    living = [program.frozen, freeze(program, SPEC)]

    def cycle():
        living.append(freeze(program, SPEC))
        living.pop(0).release(session=program.session)

    assert growth(cycle, 8) == {}
    for one in living:
        one.release(session=program.session)
    for hooked in (program.optimizer, program.target):
        assert "freezecompat" not in repr([type(value) for value in getattr(hooked, "__dict__", {}).values()])


def test_attach_and_detach(program):
    """On the same optimizer, with frozen elements, whose slots are reset."""
    program.frozen.freeze(SPEC, session=program.session)

    def cycle():
        program.frozen.detach(program.optimizer)
        program.frozen.attach(program.optimizer)

    assert growth(cycle, 6) == {}


@pytest.mark.skipif(not runtimes.EAGER, reason="an optimizer of a graph makes no probe for its slots")
@pytest.mark.parametrize("kind", sorted(runtimes.v1_optimizers()))
def test_slots_that_are_made_later_have_their_own_names(kind):
    """TF1 numbers the slots of variables of one name: what looks for fresh slots takes no number."""

    def names(name, freezes):
        found = []
        for _ in range(2):
            variable, optimizer = tf.Variable([1.0, 2.0], name=name), runtimes.v1_optimizers()[kind]()
            frozen = fc.freeze([variable], fc.FreezeSpec.empty(), optimizer=optimizer) if freezes else None
            optimizer.apply_gradients([(tf.ones([2]), variable)])
            if freezes:
                frozen.freeze({"#0": [0]}).thaw()
            found += [listed.name.replace(name, "") for listed in optimizer.variables()]
        return found

    assert names("frozen_" + kind, freezes=True) == names("plain_" + kind, freezes=False)


@pytest.mark.skipif(not runtimes.EAGER, reason="the hooks on a model are those of eager mode")
@pytest.mark.parametrize("kit", sorted(kits.kits()))
def test_many_frozens_on_one_model(kit):
    """Hundreds of them on one model, and it still trains: their hooks don't call one another."""
    model = kits.kits()[kit].compiled()
    frozens = [fc.freeze(model, kits.SPEC) for _ in range(500)]
    before = kits.values(model)
    kits.fit(model)
    kits.assert_held_and_free_moved(before, kits.values(model), kits.MASKS)
    for one in frozens:
        one.release()
    before = kits.values(model)
    kits.fit(model)
    kits.assert_all_moved(before, kits.values(model))
