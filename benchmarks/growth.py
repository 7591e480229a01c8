"""How what a freeze costs grows: with the number of weights, their size, the frozen elements, and the calls.

    python benchmarks/growth.py [--section NAME ...] [--largest 100000000] [--weights 2000] [--rounds 9] [--json FILE]

    weights     1 to 2,000 small weights: attaching beside building the optimizer (in a graph: what the train op takes more to build);
                a compiled step beside the plain one, the operations that it has more, and the Python calls of ours that it makes
    predicate   fc.freeze with where("abs(w) < 1e-3") on a model of ten weights beside one numpy pass of the same expression
    elements    one weight of --largest elements, of which 1 to all are frozen: the step beside the plain one, and the call of
                `frozen.freeze` beside the same numpy pass
    calls       the first to the 1,000th call of freeze and thaw, beside the second to eleventh
    size        the step of a weight of 10,000 elements to what --memory gigabytes hold

Whatever is compared is timed in turn in one process; see figures.py. Each optimizer is Adam.
"""

import functools
import gc
import os
import statistics
import sys
import time

import numpy as np

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
sys.path[:0] = [os.path.dirname(os.path.abspath(__file__)), os.path.dirname(os.path.dirname(os.path.abspath(__file__)))]

import tensorflow as tf  # noqa: E402

import figures  # noqa: E402
import freezecompat as fc  # noqa: E402
from training_step import is_keras_3, packages  # noqa: E402

v1 = tf.compat.v1
OWN = os.path.dirname(os.path.abspath(fc.__file__)) + os.sep
NOTHING_YET = fc.FreezeSpec.empty()
PREDICATE = "abs(w) < 1e-3"
BATCH = 32
# What a step takes at its peak, both programs' variables and slots with it; Keras' own Adam makes the most temporaries.
BYTES_AN_ELEMENT = 60
DOMINATED_BY_THE_OPTIMIZER = 9 * 10**6  # elements: the load of which the target of a step is said


class Traced:
    """Variables, and a Keras optimizer that steps in a tf.function."""

    session = None

    def __init__(self, keras, values):
        make = keras.Variable if is_keras_3(keras) else tf.Variable
        self.variables = {"w{}".format(k): make(value, name="w{}".format(k)) for k, value in enumerate(values)}
        self.optimizer = keras.optimizers.Adam(1e-3)

    def build(self):
        """The optimizer's own part: its slots."""
        variables = list(self.variables.values())
        if hasattr(self.optimizer, "build"):
            self.optimizer.build(variables)
        else:  # Keras up to 2.10
            self.optimizer._create_hypers()
            self.optimizer._create_slots(variables)

    def freeze(self, spec):
        return fc.freeze(self.variables, spec, optimizer=self.optimizer)

    def step(self):
        """A compiled step."""
        variables = list(self.variables.values())

        @tf.function
        def step():
            self.optimizer.apply_gradients([(gradient_of(variable), variable) for variable in variables])

        self.operations = count_operations(step.get_concrete_function().graph)
        return step

    def arrays(self):
        return [variable.numpy() for variable in self.variables.values()]


class InGraph:
    """Variables and tf.train's Adam in a TF1 graph and a session."""

    def __init__(self, values):
        self.graph = tf.Graph()
        self.session = v1.Session(graph=self.graph)
        zeros = v1.zeros_initializer()
        with self.graph.as_default():
            self.variables = {}
            for k, value in enumerate(values):
                name = "w{}".format(k)
                self.variables[name] = v1.get_variable(name, value.shape, initializer=zeros, use_resource=True)
            self.session.run(v1.global_variables_initializer())
            for variable, value in zip(self.variables.values(), values):
                variable.load(value, self.session)
            self.gradients = [(gradient_of(variable), variable) for variable in self.variables.values()]
            self.optimizer = v1.train.AdamOptimizer(1e-3)

    def build(self):
        """The train op."""
        with self.graph.as_default():
            self.train = self.optimizer.apply_gradients(self.gradients)

    def freeze(self, spec):
        return fc.freeze(self.variables, spec, optimizer=self.optimizer, session=self.session)

    def step(self):
        """A step of the session."""
        self.build()
        with self.graph.as_default():
            self.session.run(v1.variables_initializer(v1.global_variables()[len(self.variables) :]))
        self.operations = count_operations(self.graph)
        return lambda: self.session.run(self.train)

    def arrays(self):
        return self.session.run(list(self.variables.values()))


def gradient_of(variable):
    """That of a dense layer without a bias, for a batch of ones and the loss of half the sum of its squared outputs."""
    x = tf.ones((BATCH, variable.shape[0]))
    return tf.matmul(x, tf.matmul(x, tf.convert_to_tensor(variable)), transpose_a=True)


def programs():
    """{name: function of initial values that makes a program}"""
    found = {name + ", tf.function": functools.partial(Traced, keras) for name, keras in packages().items()}
    return dict(found, **{"tf.train in a graph": InGraph})


def count_operations(graph):
    """Of a graph and the functions in it."""
    definition = graph.as_graph_def()
    return len(definition.node) + sum(len(function.node_def) for function in definition.library.function)


def weights(name, make, options):
    """1 to 2,000 small weights."""
    for count in up_to(options.weights, 1, 10, 100, 1000, 2000):
        values, case = [np.ones((4, 4), np.float32)] * count, "{:,} weights".format(count)
        for variant, found in set_up(make, values, options.rounds).items():
            # The target is of attaching: what is frozen then is a further variant.
            target = 2 if variant == "attach" else None
            yield figures.row("growth: weights", name, case, variant, unit="x build", target=target, **found)
        plain, attached, frozen = make(values), make(values), make(values)
        attached.freeze(NOTHING_YET)
        frozen.freeze({"*": [(1, 2)]})
        running = {"plain": plain.step(), "none yet": attached.step(), "1 element of each": frozen.step()}
        for variant, found in figures.alternate(running, options.rounds).items():
            if variant != "plain":
                yield figures.row("growth: weights", name, case, "step, " + variant, unit="x plain", **found)
        more = (frozen.operations - plain.operations) / count
        yield figures.row("growth: weights", name, case, "operations more", more, unit="a weight")
        calls = own_calls(running["1 element of each"])
        yield figures.row("growth: weights", name, case, "Python calls of ours", calls, unit="a step", target=0)


def set_up(make, values, rounds):
    """{variant: figures} of attaching and freezing, beside building the optimizer."""

    def built():
        program = make(values)
        program.build()
        return program

    def fresh():
        return make(values)

    one = {"*": [(1, 2)]}
    if make is not InGraph:
        found = figures.alternate(
            {
                "build": lambda program: program.build(),
                "attach": lambda program: program.freeze(NOTHING_YET),
                "attach and freeze 1 of each": lambda program: program.freeze(one),
            },
            rounds,
            prepare={"build": fresh, "attach": built, "attach and freeze 1 of each": built},
        )
        del found["build"]
        return found
    found = figures.alternate(
        {
            "build": lambda program: program.build(),
            "attach": lambda program: (program.freeze(NOTHING_YET), program.build()),
            "attach and freeze 1 of each": lambda program: (program.freeze(one), program.build()),
        },
        rounds,
        prepare={"build": fresh, "attach": fresh, "attach and freeze 1 of each": fresh},
    )
    build = found.pop("build")["milliseconds"]
    for taken in found.values():  # what the train op takes more
        taken["figure"] -= 1
        taken["cpu"] -= 1
        taken["milliseconds"] -= build
        taken["spread"] = tuple(figure - 1 for figure in taken["spread"])
    return found


def own_calls(run):
    """Python calls of freezecompat's code during a run."""
    calls = []

    def see(frame, event, argument):
        if event == "call" and frame.f_code.co_filename.startswith(OWN):
            calls.append(frame.f_code.co_name)

    sys.setprofile(see)
    try:
        run()
    finally:
        sys.setprofile(None)
    return len(calls)


def predicate(name, make, options):
    """fc.freeze with a predicate on a model of ten weights."""
    for size in up_to(options.largest, 10**6, 10**7, 10**8):
        values = [random_values((size // 1000, 100), seed) for seed in range(10)]
        chosen = {"*": fc.elements.where(PREDICATE)}
        for state in ("before the first step", "warm"):
            program = make(values)
            if state == "warm":
                program.freeze(NOTHING_YET)
                program.step()()
            arrays = program.arrays()
            kept = []

            def release():
                while kept:
                    kept.pop().release(program.session)

            found = figures.alternate(
                {
                    "numpy": lambda: [numpy_pass(array) for array in arrays],
                    "freeze": lambda _: kept.append(program.freeze(chosen)),
                },
                options.rounds,
                prepare={"freeze": release},
                warm_up=1,
            )["freeze"]
            case = "{:,} elements".format(size)
            yield figures.row("growth: predicate", name, case, state, unit="x numpy pass", target=3, **found)
            release()


def elements(name, make, options):
    """One large weight of which more and more is frozen."""
    shape = (options.largest // 1000, 1000)
    values = [random_values(shape)]
    plain, program = make(values), make(values)
    frozen = program.freeze(NOTHING_YET)
    plain_step, step = plain.step(), program.step()
    array = values[0]
    for count in up_to(array.size, 1, 100, 10**4, 10**6, 10**8) + [array.size // 2, array.size - 1]:
        case = "{:,} of {:,} frozen".format(count, array.size)
        chosen = {"w0": random_elements(shape, count)}
        found = figures.alternate(
            {
                "numpy": lambda: numpy_pass(array),
                "freeze": lambda _: frozen.freeze(chosen, session=program.session),
            },
            options.rounds,
            prepare={"freeze": lambda: frozen.thaw(session=program.session)},
            warm_up=1,
        )["freeze"]
        yield figures.row("growth: elements", name, case, "freeze", unit="x numpy pass", **found)
        found = figures.alternate({"plain": plain_step, "frozen": step}, options.rounds)["frozen"]
        target = target_of_a_step(array.size)
        yield figures.row("growth: elements", name, case, "step", unit="x plain", target=target, **found)
        frozen.thaw(session=program.session)


def calls(name, make, options):
    """Freezes and thaws of one element, again and again."""
    shape = (100, 100)
    program = make([random_values(shape)])
    frozen = program.freeze(NOTHING_YET)
    program.step()()
    changes = {"freeze": frozen.freeze, "thaw": frozen.thaw}
    taken = {variant: [] for variant in changes}
    for k in range(options.calls):
        place = {"w0": [(k % 100, k // 10)]}
        for variant, change in changes.items():
            start = time.perf_counter()
            change(place, session=program.session)
            taken[variant].append(time.perf_counter() - start)
    for variant, times in taken.items():
        early = statistics.median(times[1:11])
        for call, of_it in (
            (1, times[:1]),
            (options.calls // 10, times[options.calls // 10 :][:10]),
            (options.calls, times[-10:]),
        ):
            found = {"figure": statistics.median(of_it) / early, "milliseconds": 1000 * statistics.median(of_it)}
            spread = tuple(one / early for one in figures.middle_half(of_it))
            case = "call {:,}".format(call)
            yield figures.row("growth: calls", name, case, variant, spread=spread, unit="x call 2 to 11", **found)


def size(name, make, options):
    """The step of larger and larger weights."""
    largest = int(options.memory * 2**30 / BYTES_AN_ELEMENT) // 1000 * 1000
    for count in up_to(largest, 10**4, 10**5, 10**6, 10**7, 10**8) + [largest]:
        values = [random_values((count // 1000, 1000))]
        plain, program = make(values), make(values)
        frozen = program.freeze(NOTHING_YET)
        running = {"plain": plain.step(), "frozen": program.step()}
        del values
        for variant, chosen in (("1 element", [(0, 0)]), ("half, a slice", np.s_[: count // 2000])):
            frozen.freeze({"w0": chosen}, session=program.session)
            found = figures.alternate(running, options.rounds)["frozen"]
            case, target = "{:,} elements".format(count), target_of_a_step(count)
            yield figures.row("growth: size", name, case, variant, unit="x plain", target=target, **found)
            frozen.thaw(session=program.session)
        del plain, program, frozen, running
        gc.collect()


def target_of_a_step(size):
    return 1.05 if size >= DOMINATED_BY_THE_OPTIMIZER else None


def numpy_pass(array):
    return np.abs(array) < 1e-3


def random_values(shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape, dtype=np.float32)


def random_elements(shape, count):
    """Positions as long as those are few, then a mask; some fewer than `count`, where one is drawn twice."""
    every = int(np.prod(shape))
    if count == every:
        return "all"
    if count == every - 1:
        mask = np.ones(shape, bool)
        mask[0, 0] = False
        return mask
    drawn = np.random.default_rng(1).integers(every, size=count)
    if count <= 10**4:
        return np.stack(np.unravel_index(np.unique(drawn), shape), axis=-1)
    mask = np.zeros(every, bool)
    mask[drawn] = True
    return mask.reshape(shape)


def up_to(largest, *sizes):
    return [size for size in sizes if size <= largest]


SECTIONS = {"weights": weights, "predicate": predicate, "elements": elements, "calls": calls, "size": size}


def main():
    known = programs()
    parser = figures.parser(__doc__)
    parser.add_argument("--section", nargs="+", choices=list(SECTIONS), default=list(SECTIONS))
    parser.add_argument("--program", nargs="+", metavar="NAME", help="those whose name has this text in it")
    parser.add_argument("--weights", type=int, default=2000, help="the most weights")
    parser.add_argument("--largest", type=int, default=10**8, help="elements of the largest model, `size` apart")
    parser.add_argument("--memory", type=float, default=20, help="gigabytes that the largest model of `size` may take")
    parser.add_argument("--calls", type=int, default=1000, help="of freeze and of thaw")
    parser.add_argument("--rounds", type=int, default=9)
    options = parser.parse_args()
    wanted = [name for name in known if options.program is None or any(text in name for text in options.program)]
    if not wanted:
        parser.error("no program is named so; there are: " + "; ".join(known))
    made = (SECTIONS[section](name, known[name], options) for section in options.section for name in wanted)
    figures.show((found for rows in made for found in rows), options.json)


if __name__ == "__main__":
    main()
