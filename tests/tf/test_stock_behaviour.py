"""An optimizer with a freeze of nothing does what it does without one: the same results, warnings and errors."""

import contextlib
import copy
import pickle
import re
import warnings

import numpy as np
import pytest
import tensorflow as tf

import freezecompat as fc
import optimizers
import runtimes

v1 = tf.compat.v1
KERNEL = np.array([[0.5, -0.25, 0.75], [-0.5, 1.0, -0.0]], "f4")
BIAS = np.array([0.1, -0.2, 0.3], "f4")
GRADIENT = np.array([[0.1, -0.2, 0.3], [0.4, 0.5, -0.6]], "f4")


def families():
    """{id: function that makes an optimizer} of all classes of this runtime, and of Keras' with options that clip."""
    found = {"tf.train " + name: make for name, make in optimizers.v1_optimizers().items()}
    for package, _, family, module in runtimes.keras_optimizer_modules():
        for name, make in optimizers.keras_optimizers(module).items():
            found["{} {}{}".format(package, family, name)] = make
        for option in ("clipnorm", "clipvalue", "global_clipnorm"):
            if not (runtimes.TF1 and option == "global_clipnorm"):
                make = optimizers._maker(module.SGD, 0.05, dict, {option: 0.1})
                found["{} {}SGD {}".format(package, family, option)] = make
    return found


FAMILIES = families()


class Setting:
    """Two variables and an optimizer, attached to nothing or with a freeze of nothing."""

    def __init__(self, make, attach, dtype="float32"):
        options = {} if runtimes.EAGER else {"use_resource": True}
        variable = tf.Variable if runtimes.EAGER else v1.Variable
        self.kernel = variable(KERNEL.astype(dtype), name="kernel", **options)
        self.bias = variable(BIAS.astype(dtype), name="bias", **options)
        self.both = [self.kernel, self.bias]
        self.optimizer = make()
        self.initialized = False
        self.session = None
        if attach:
            fc.freeze(self.both, fc.FreezeSpec.empty(), optimizer=self.optimizer)

    def run(self, op, times=2):
        """In a graph: run what was built. In eager mode that has happened."""
        if runtimes.EAGER:
            return
        with runtimes.session_as_written() as session:
            session.run(v1.global_variables_initializer())
            for _ in range(times):
                session.run(op)
            self.found = session.run(self.both)

    def values(self):
        return [v.numpy().tobytes() for v in self.both] if runtimes.EAGER else [v.tobytes() for v in self.found]

    def listed(self):
        listed = getattr(self.optimizer, "variables", ())
        listed = listed() if callable(listed) else listed
        return [
            (re.sub(r"_[0-9]+:", ":", v.name), tuple(v.shape), v.dtype if isinstance(v.dtype, str) else v.dtype.name)
            for v in listed
        ]

    def apply(self, pairs, **options):
        """Apply given gradients, and say what came of it."""
        result = self.optimizer.apply_gradients(pairs, **options)
        self.run(result)
        # The op that stands for a step of Keras 2 in a graph is another one; that of tf.train has the name that was asked for.
        named = isinstance(self.optimizer, v1.train.Optimizer) and not runtimes.EAGER
        return self.values(), self.listed(), result.name if named else None


def given(gradient, dtype="float32"):
    return lambda s: s.apply([(tf.constant(np.asarray(gradient, dtype)), s.kernel)])


def rows(values, indices):
    return lambda s: s.apply(
        [(tf.IndexedSlices(tf.constant(values), tf.constant(indices), tf.constant([2, 3])), s.kernel)]
    )


def in_a_function(gradient):
    def behaviour(s):
        if not runtimes.EAGER:
            return None
        if hasattr(s.optimizer, "build"):
            s.optimizer.build(s.both)
        step = tf.function(lambda: s.optimizer.apply_gradients([(tf.constant(gradient), s.kernel)]) and None)
        step()
        return s.values(), s.listed()

    return behaviour


def minimize(s):
    def loss():
        return tf.reduce_sum(tf.square(s.kernel)) + tf.reduce_sum(s.bias)

    s.run(s.optimizer.minimize(loss if runtimes.EAGER else loss(), var_list=s.both))
    return s.values(), s.listed()


def minimize_without_variables(s):
    s.run(s.optimizer.minimize(lambda: tf.reduce_sum(tf.square(s.kernel))))
    return s.values()


def minimize_what_depends_on_nothing(s):
    loss = (lambda: tf.constant(1.0)) if runtimes.EAGER else tf.constant(1.0)
    s.run(s.optimizer.minimize(loss, var_list=s.both))
    return s.values()


def compute_and_apply(s):
    loss = (lambda: tf.reduce_sum(tf.square(s.kernel))) if runtimes.EAGER else tf.reduce_sum(tf.square(s.kernel))
    pairs = s.optimizer.compute_gradients(loss, s.both)
    return [(type(g).__name__, v is s.kernel) for g, v in pairs], s.apply(pairs)


def config(s):
    made = type(s.optimizer).from_config(s.optimizer.get_config())
    return repr(s.optimizer.get_config()), repr(made.get_config()), type(made).__name__


def names(s):
    optimizer = s.optimizer
    return [repr(getattr(optimizer, name, None)) for name in ("name", "_name")] + [
        optimizer.get_name() if hasattr(optimizer, "get_name") else None
    ]


def slots(s):
    found, kept = s.apply([(tf.constant(GRADIENT), s.kernel)]), s.optimizer.get_slot_names()
    return found, kept, [s.optimizer.get_slot(s.kernel, name).dtype.name for name in kept]


def weights(s):
    s.apply([(tf.constant(GRADIENT), s.kernel)])
    if not runtimes.EAGER:
        return None
    found = s.optimizer.get_weights()
    s.optimizer.set_weights([value + 1 for value in found])
    return [np.asarray(w).tobytes() for w in found], s.apply([(tf.constant(GRADIENT), s.kernel)])


def iterations(s):
    s.apply([(tf.constant(GRADIENT), s.kernel)])
    s.apply([(tf.constant(GRADIENT), s.kernel)])
    count = s.optimizer.iterations
    return int(getattr(count, "_value", count).numpy()) if runtimes.EAGER else count.name


def learning_rate(s):
    s.optimizer.learning_rate = 0.25
    return s.apply([(tf.constant(GRADIENT), s.kernel)])


def unknown_attribute(s):
    return s.optimizer.no_such_attribute


def copied(way):
    def behaviour(s):
        made = way(s.optimizer)
        taken = [name for name, value in vars(made).items() if "freezecompat" in type(value).__module__]
        return type(made).__name__, taken

    return behaviour


def apply_keywords(**options):
    return lambda s: s.apply([(tf.constant(GRADIENT), s.kernel)], **options)


# Not among them: gradients of another dtype or with rows of another length, on which some optimizers end the process.
BEHAVIOURS = {
    "get_config, from_config": config,
    "its names": names,
    "both": lambda s: s.apply([(tf.constant(GRADIENT), s.kernel), (tf.constant(BIAS), s.bias)]),
    "no pairs": lambda s: s.apply([]),
    "no pairs at all": lambda s: s.apply(None),
    "None alone": lambda s: s.apply([(None, s.kernel), (None, s.bias)]),
    "None among others": lambda s: s.apply([(tf.constant(GRADIENT), s.kernel), (None, s.bias)]),
    "a gradient of no variable": lambda s: s.apply([(tf.constant(GRADIENT), None)]),
    "a gradient of a number": lambda s: s.apply([(tf.constant(GRADIENT), 3.0)]),
    "gradients in a pair of lists": lambda s: s.apply(([tf.constant(GRADIENT)], [s.kernel])),
    "a scalar": given(0.5),
    "one element": given([0.5]),
    "one column": given([[0.5], [0.25]]),
    "one row": given([0.5, 0.25, 0.125]),
    "transposed": given(GRADIENT.T),
    "flat": given(GRADIENT.reshape(-1)),
    "an axis too many": given(GRADIENT[None]),
    "two elements": given([0.5, 0.25]),
    "integers": given(GRADIENT * 10, "int32"),
    "bools": given(GRADIENT > 0, "bool"),
    "a list": lambda s: s.apply([(GRADIENT.tolist(), s.kernel)]),
    "numpy": lambda s: s.apply([(GRADIENT, s.kernel)]),
    "nan": given(GRADIENT * np.nan),
    "rows": rows(GRADIENT[:, :3], [1, 1]),
    "no rows": rows(GRADIENT[:0], np.zeros([0], "int32")),
    "a function, one column": in_a_function(np.array([[0.5], [0.25]], "f4")),
    "a function, a scalar": in_a_function(np.float32(0.5)),
    "a function, transposed": in_a_function(GRADIENT.T),
    "a function, integers": in_a_function(np.array([[1, 2, 3], [4, 5, 6]], "int32")),
    "minimize": minimize,
    "minimize without variables": minimize_without_variables,
    "minimize what depends on nothing": minimize_what_depends_on_nothing,
    "compute_gradients": compute_and_apply,
    "a name": apply_keywords(name="mine"),
    "an unknown keyword": apply_keywords(no_such_option=1),
    "slots": slots,
    "get_weights, set_weights": weights,
    "iterations": iterations,
    "learning_rate": learning_rate,
    "an unknown attribute": unknown_attribute,
    "deepcopy": copied(copy.deepcopy),
    "pickle": copied(lambda optimizer: pickle.loads(pickle.dumps(optimizer))),
}


def outcome(make, attach, behaviour, dtype="float32"):
    """What a behaviour gives or raises, and warns of, in a place of its own."""
    place = contextlib.nullcontext() if runtimes.EAGER else v1.Graph().as_default()
    runtimes.number_names_anew()
    with place, warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            setting = Setting(make, attach, dtype)
            found = "gave", behaviour(setting)
        except Exception as error:
            found = "raised", type(error).__name__, told(error)
    return found, sorted({told(one.message) for one in caught if one.category is UserWarning})


# Where an error goes on to name ops, attributes in any order, kernels, and files.
_NOT_ITS_WORDS = (
    r" \(defined at|\n\nErrors may|\n\nOriginal stack|\nStack trace|Detected at node|Defined at"
    r"| for '\{\{node| used by \{\{node| used by node"
)


def told(error):
    """The text of an error without addresses and numbers of objects, and without the stack that a function puts before it."""
    text = str(error)
    if text.startswith(("in user code", "in converted code")):
        text = text.strip().splitlines()[-1]
    text = re.split(_NOT_ITS_WORDS, text)[0]
    return re.sub(r"0x[0-9a-f]+|_[0-9]+\b|[0-9]+ of [0-9]+", "#", text).strip()


# Some of each kind; the others leave all of this to the same base, and come with --every-option.
FIRST = re.compile(r"(tf.train Momentum|Adam|keras3 SGD clipnorm|tf.keras SGD clipnorm|MultiOptimizer)$")


@pytest.fixture(params=sorted(FAMILIES))
def name(request):
    if not FIRST.search(request.param) and not request.config.getoption("--every-option"):
        pytest.skip("with --every-option")
    return request.param


def test_a_freeze_of_nothing_changes_no_behaviour(name):
    """Configs, errors, warnings, names, gradients of each shape and kind, copies: as of the plain optimizer."""
    make, different, gave = FAMILIES[name], {}, 0
    for what, behaviour in BEHAVIOURS.items():
        plain, attached = outcome(make, False, behaviour), outcome(make, True, behaviour)
        gave += plain[0][0] == "gave"
        if plain != attached:
            different[what] = plain, attached
    assert not different, "\n".join("{}: {}".format(what, both) for what, both in sorted(different.items()))
    assert gave >= 10  # or the comparison says nothing


def complex_optimizers():
    return sorted(name for name in FAMILIES if re.search(r"SGD$|GradientDescent$|Adam$|Momentum$|RMS", name))


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("name", complex_optimizers())
def test_complex_weights(name, dtype):
    """Trained where the plain optimizer trains them, and refused in the same words where it does not."""
    gradient = (GRADIENT * (1 + 2j)).astype(dtype)
    behaviour = given(gradient, dtype)
    plain, attached = (outcome(FAMILIES[name], attach, behaviour, dtype) for attach in (False, True))
    assert plain == attached
