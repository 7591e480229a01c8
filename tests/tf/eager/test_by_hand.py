"""Not attached yet, attached later, and updates and clipping by hand."""

import numpy as np
import pytest
import tensorflow as tf

import freezecompat as fc
import kits
from kits import ADDRESSES, MASKS, SPEC, assert_all_moved, assert_held_and_free_moved, values

KITS = kits.kits()
v1 = tf.compat.v1


@pytest.fixture(params=sorted(KITS))
def kit(request):
    return KITS[request.param]


def gradients_of(model):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(model(kits.X) - kits.Y))
    variables = [getattr(v, "_value", v) for v in model.trainable_variables]
    return tape.gradient(loss, variables), variables


def test_not_attached_says_so_and_attach_later_acts(kit):
    """No optimizer yet: repr and report() say NOT ATTACHED, verify() raises; attach() holds from then on."""
    model, optimizer = kit.model(), kit.adam()
    frozen = fc.freeze(model, SPEC)
    assert "NOT ATTACHED" in repr(frozen) and "NOT ATTACHED" in str(frozen.report())
    assert frozen.report().to_dict()["attached"] is False
    with pytest.raises(fc.NotAttached, match="attach") as caught:
        frozen.verify()
    assert isinstance(caught.value, RuntimeError)
    before = values(model)
    kits.tape_step(model, optimizer)
    assert_all_moved(before, values(model))
    frozen.attach(optimizer)
    frozen.rebase()
    assert "NOT ATTACHED" not in repr(frozen) and frozen.report().to_dict()["attached"] is True
    before = values(model)
    kits.tape_step(model, optimizer)
    assert_held_and_free_moved(before, values(model), MASKS)
    frozen.verify()


@pytest.mark.parametrize("traced", [False, True], ids=["eager", "tf.function"])
def test_hold_around_a_hand_written_update(kit, traced):
    """assign_sub of a whole weight inside hold(): frozen elements keep their bytes, the others are as without us."""
    model, plain = kit.model(), kit.model()
    frozen = fc.freeze(model, SPEC)

    def update(one):
        gradients, variables = gradients_of(one)
        for gradient, variable in zip(gradients, variables):
            variable.assign_sub(0.1 * gradient)

    def held_update():
        with frozen.hold():
            update(model)

    step = tf.function(held_update) if traced else held_update
    before = values(model)
    step()
    update(plain)
    after, expected = values(model), values(plain)
    assert_held_and_free_moved(before, after, MASKS)
    for address, one, other in zip(ADDRESSES, after, expected):
        free = ~MASKS.get(address, np.zeros(one.shape, bool))
        if traced:
            np.testing.assert_allclose(one[free], other[free], rtol=1e-6)
        else:
            assert one[free].tobytes() == other[free].tobytes()
    frozen.verify()
    frozen.thaw()
    before = values(model)
    step()
    assert_all_moved(before, values(model))
    frozen.freeze(SPEC)
    before = values(model)
    step()
    assert_held_and_free_moved(before, values(model), MASKS)
    assert "hand-written updates" in str(frozen.report())


def test_hold_around_an_update_that_raises(kit):
    """The update fails after it wrote: the frozen elements are put back, and the error comes through."""
    model = kit.model()
    frozen = fc.freeze(model, SPEC)
    before = values(model)
    with pytest.raises(KeyError, match="mine"):
        with frozen.hold():
            model.set_weights([array + 1 for array in before])
            raise KeyError("mine")
    assert_held_and_free_moved(before, values(model), MASKS)


def clipped_by_hand(model, gradients):
    gradients = tf.clip_by_global_norm(gradients, 0.5)[0]
    return gradients, model.trainable_variables


@pytest.mark.parametrize("huge", [1.0, 1e6, np.nan], ids=["as it is", "1e6", "nan"])
def test_mask_gradients_before_a_clip_by_hand_is_the_oracle(kit, huge):
    """Whatever the gradient of a frozen element is, the clipped step of the free ones is that of a constant's: 0."""
    mask = MASKS["hidden/kernel"]
    found = []
    for oracle in (False, True):
        model, optimizer = kit.model(), kit.adam()
        frozen = None if oracle else fc.freeze(model, SPEC, optimizer=optimizer)
        for _ in range(3):
            gradients, variables = gradients_of(model)
            first = gradients[0].numpy()
            first = np.where(mask, np.float32(0), first) if oracle else np.where(mask, first * np.float32(huge), first)
            gradients = [tf.constant(first)] + gradients[1:]
            if not oracle:
                masked = frozen.mask_gradients(gradients, variables)
                assert isinstance(masked, list)
                gradients = masked
            clipped, variables = clipped_by_hand(model, gradients)
            before = values(model)
            optimizer.apply_gradients(zip(clipped, variables))
            assert_held_and_free_moved(before, values(model), MASKS)
        found.append(values(model))
    for one, other in zip(*found):
        assert one.tobytes() == other.tobytes()


@pytest.mark.parametrize("looked_up", [False, True], ids=["dense", "looked up"])
def test_what_mask_gradients_gives_can_be_differentiated(looked_up):
    """A gradient of the gradient, as meta-learning takes it: 2 where free, 0 where frozen."""
    variable = tf.Variable([[1.0, -2.0], [3.0, 4.0]])
    frozen = fc.freeze([variable], {"#0": [(0, 1), (1, 0)]})
    with tf.GradientTape() as outer:
        with tf.GradientTape() as inner:
            read = tf.gather(variable, [0, 1]) if looked_up else variable.read_value()
            loss = tf.reduce_sum(tf.square(read))
        (gradient,) = frozen.mask_gradients(inner.gradient(loss, [variable]), [variable])
        total = tf.reduce_sum(gradient.values if looked_up else gradient)
    second = tf.convert_to_tensor(outer.gradient(total, variable))
    np.testing.assert_array_equal(second.numpy(), [[2.0, 0.0], [0.0, 2.0]])


def test_mask_gradients_keeps_container_none_and_indexed_slices(kit):
    """The same container comes back; None stays None, IndexedSlices stay IndexedSlices, their rows selected."""
    kernel = tf.Variable(np.array([[1.0, 2.0], [3.0, 4.0]], "f4"))
    table = tf.Variable(np.arange(6, dtype="f4").reshape(3, 2))
    left_out = tf.Variable([1.0, 2.0])
    target = {"kernel": kernel, "table": table, "left_out": left_out}
    frozen = fc.freeze(target, {"kernel": [(0, 1)], "table": [(2, 0)], "left_out": [0]})
    slices = tf.IndexedSlices(tf.ones((3, 2)), tf.constant([2, 0, 2]), tf.constant([3, 2]))
    gradients = (tf.constant([[1.0, np.nan], [3.0, -0.0]]), slices, None)
    masked = frozen.mask_gradients(gradients, (kernel, table, left_out))
    assert type(masked) is tuple and masked[2] is None
    assert masked[0].numpy().tobytes() == np.array([[1.0, 0.0], [3.0, -0.0]], "f4").tobytes()
    assert isinstance(masked[1], tf.IndexedSlices)
    assert masked[1].values.numpy().tolist() == [[0.0, 1.0], [1.0, 1.0], [0.0, 1.0]]
    assert masked[1].indices.numpy().tolist() == [2, 0, 2] and masked[1].dense_shape.numpy().tolist() == [3, 2]
    assert slices.values.numpy().tolist() == [[1.0, 1.0]] * 3
    frozen.thaw()
    thawed = frozen.mask_gradients(list(gradients), [kernel, table, left_out])
    assert type(thawed) is list and thawed[1].values.numpy().tolist() == [[1.0, 1.0]] * 3


def test_a_none_gradient_leaves_the_variable_alone(kit):
    """A None gradient stays None: the variable does not move, not even by a warm slot."""
    first, second = tf.Variable([1.0, 2.0, 3.0]), tf.Variable([1.0, 2.0, 3.0])
    optimizer = kit.adam()
    fc.freeze({"first": first, "second": second}, {"first": [1], "second": [1]}, optimizer=optimizer)
    for _ in range(2):
        optimizer.apply_gradients([(tf.ones(3), first), (tf.ones(3), second)])
    before = second.numpy(), first.numpy()
    optimizer.apply_gradients([(tf.ones(3), first), (None, second)])
    assert second.numpy().tobytes() == before[0].tobytes()
    assert (first.numpy() != before[1]).tolist() == [True, False, True]


def as_list(pairs):
    return list(pairs)


def as_tuple(pairs):
    return tuple(pairs)


def as_zip(pairs):
    return zip([gradient for gradient, _ in pairs], [variable for _, variable in pairs])


def as_generator(pairs):
    return (pair for pair in list(pairs))


@pytest.mark.parametrize("container", [as_list, as_tuple, as_zip, as_generator])
@pytest.mark.parametrize("optimizer", ["keras", "tf.train"])
def test_grads_and_vars_in_any_container(kit, container, optimizer):
    """A list, tuple, zip or generator of pairs is consumed once, and each gradient meets its own variable."""
    model = kit.model()
    variables = [tf.Variable(array) for array in kits.WEIGHTS]
    optimizer = kit.sgd() if optimizer == "keras" else v1.train.GradientDescentOptimizer(0.1)
    fc.freeze(dict(zip(ADDRESSES, variables)), SPEC, optimizer=optimizer)
    gradients = [np.full(array.shape, k + 1, "f4") for k, array in enumerate(kits.WEIGHTS)]
    optimizer.apply_gradients(container(list(zip(map(tf.constant, gradients), variables))))
    for address, start, gradient, variable in zip(ADDRESSES, kits.WEIGHTS, gradients, variables):
        mask = MASKS.get(address, np.zeros(start.shape, bool))
        expected = np.where(mask, start, start - np.float32(0.1) * gradient)
        assert variable.numpy()[mask].tobytes() == start[mask].tobytes()
        np.testing.assert_allclose(variable.numpy(), expected, rtol=1e-6)
    assert len(model.weights) == 4


def test_a_gradient_of_another_shape_is_refused(kit):
    """Gradients and variables in another order: an error that names the weight and both shapes, and nothing moved."""
    model, optimizer = kit.model(), kit.sgd()
    frozen = fc.freeze(model, SPEC, optimizer=optimizer)
    gradients, variables = gradients_of(model)
    before = values(model)
    with pytest.raises(ValueError, match=r"\(3,\).*\(4, 3\)"):
        frozen.mask_gradients([gradients[1], gradients[0]], variables[:2])
    with pytest.raises(ValueError, match=r"\(3,\).*\(4, 3\)"):
        optimizer.apply_gradients([(gradients[1], variables[0]), (gradients[0], variables[1])])
    with pytest.raises(ValueError, match="2 gradients for 4 variables"):
        frozen.mask_gradients(gradients[:2], variables)
    for one, other in zip(before, values(model)):
        assert one.tobytes() == other.tobytes()


@pytest.mark.parametrize(
    "gradient", ["text", {"kernel": 1.0}, [[True, False], [False, True]]], ids=["text", "dict", "bool"]
)
def test_a_gradient_of_another_kind_is_refused(kit, gradient):
    """What is no gradient of this weight: an error that names the weight."""
    kernel = tf.Variable(np.array([[1.0, 2.0], [3.0, 4.0]], "f4"), name="kernel")
    frozen = fc.freeze({"kernel": kernel}, {"kernel": [(0, 1)]})
    with pytest.raises((TypeError, ValueError), match="received"):
        frozen.mask_gradients([gradient], [kernel])


@pytest.mark.parametrize("container", [{"kernel": 1.0}, None, 3.0], ids=["dict", "None", "number"])
def test_gradients_in_the_wrong_container_are_refused(kit, container):
    """mask_gradients takes a list or tuple: anything else is an error that says so."""
    kernel = tf.Variable(np.array([[1.0, 2.0], [3.0, 4.0]], "f4"))
    frozen = fc.freeze({"kernel": kernel}, {"kernel": [(0, 1)]})
    with pytest.raises((TypeError, ValueError), match="list or tuple"):
        frozen.mask_gradients(container, [kernel])


def test_none_target_in_eager_mode_says_what_to_pass(kit):
    """target=None means a TF1 graph's variables: in eager mode a ValueError that says what to pass."""
    with pytest.raises(ValueError, match="pass the model or"):
        fc.freeze(None, SPEC, optimizer=kit.adam())
    with pytest.raises(ValueError, match="optimizer|pass the model"):
        fc.freeze(None, SPEC)


def test_hold_after_in_eager_mode_says_what_to_use(kit):
    """hold_after is for graphs: the error names hold()."""
    frozen = fc.freeze(kit.model(), SPEC)
    with pytest.raises(ValueError, match="hold"):
        frozen.hold_after(None)
