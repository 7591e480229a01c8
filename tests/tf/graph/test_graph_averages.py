"""Moving averages of weights, swapped in by assignments or a Saver, or saved under the weights' names: frozen elements held."""

import importlib

import numpy as np
import pytest
import tensorflow as tf

import freezecompat as fc
import graph_kit
import programs
import runtimes
from graph_kit import KINDS, MASKS, v1

OPTIMIZERS = dict(graph_kit.OPTIMIZERS, ftrl=lambda: v1.train.FtrlOptimizer(0.5))


def averaged(cls):
    """The program, which after each step averages its weights."""

    class Averaged(cls):
        def minimize(self):
            self.average = v1.train.ExponentialMovingAverage(0.5)
            with tf.control_dependencies([super().minimize()]):
                return self.average.apply(self.trained)

        def averages(self):
            kept = {name: self.average.average(variable) for name, variable in self.weights.variables.items()}
            return {name: self.run(variable) for name, variable in kept.items()}

    return Averaged


def warm_pair(cls, optimizer):
    """A program whose elements were frozen after two steps, and the oracle."""
    program, frozen = graph_kit.frozen_program(cls, optimizer)
    oracle = cls(optimizer(), oracle=True)
    oracle.finish()
    graph_kit.train_beside(program, oracle, range(2), {})
    frozen.freeze(MASKS, session=program.session)
    oracle.set_frozen(MASKS)
    graph_kit.train_beside(program, oracle, range(2, 5))
    return program, oracle, frozen


def assert_averages(now, program, expected):
    """Frozen elements are those of the weights, and free ones the oracle's averages, which are no weights."""
    for name, weight in program.values().items():
        mask = MASKS.get(name, np.zeros(weight.shape, bool))
        assert now[name][mask].tobytes() == weight[mask].tobytes(), name
        assert now[name][~mask].tobytes() == expected[name][~mask].tobytes(), name
        assert (now[name] != weight).any()


@pytest.mark.parametrize("optimizer", sorted(OPTIMIZERS))
@pytest.mark.parametrize("kind", sorted(KINDS))
def test_an_average_that_is_swapped_in_by_assignments(kind, optimizer):
    if kind == "reference" and not runtimes.TF1:
        pytest.skip("TF 2 can't initialise the average of a reference variable")
    program, oracle, frozen = warm_pair(averaged(KINDS[kind]), OPTIMIZERS[optimizer])
    assert_averages(program.averages(), program, oracle.averages())
    with program.session.graph.as_default():
        swap = [v1.assign(v, program.average.average(v)) for v in program.trained]
    program.session.run(swap)
    frozen.verify(session=program.session)
    program.train(5)
    frozen.verify(session=program.session)
    frozen.thaw(session=program.session)
    graph_kit.train(program, range(6, 8))
    assert all((program.averages()[name] != program.values()[name])[MASKS[name]].any() for name in ("kernel", "bias"))


def test_an_average_that_a_saver_restores(tmp_path):
    program, oracle, frozen = warm_pair(averaged(programs.Graph), graph_kit.adam)
    expected = oracle.averages()
    with program.session.graph.as_default():
        average = program.average
        path = v1.train.Saver([average.average(v) for v in program.trained]).save(program.session, str(tmp_path / "m"))
        held = program.values()
        program.train(5)
        v1.train.Saver({average.average_name(v): v for v in program.trained}).restore(program.session, path)
    for name, value in program.values().items():
        mask = MASKS.get(name, np.zeros(value.shape, bool))
        assert value[mask].tobytes() == held[name][mask].tobytes()
        assert value[~mask].tobytes() == expected[name][~mask].tobytes()
    frozen.verify(session=program.session)


@pytest.mark.skipif(not runtimes.TF1, reason="contrib is in TF 1.x")
@pytest.mark.parametrize("optimizer", sorted(OPTIMIZERS))
@pytest.mark.parametrize("given", ["inner", "outer"])
def test_what_a_moving_average_optimizer_saves(given, optimizer, tmp_path):
    """Its swapping Saver writes the averages under the weights' names."""
    opt = importlib.import_module("tensorflow.contrib.opt")

    class Averaging(programs.Graph):
        def minimize(self):
            return self.outer.minimize(self.loss, global_step=self.global_step, var_list=self.trained)

        def averages(self):
            kept = {name: self.outer._ema.average(v) for name, v in self.weights.variables.items()}
            return {name: self.run(variable) for name, variable in kept.items()}

    def made(oracle):
        program = Averaging(OPTIMIZERS[optimizer](), oracle=oracle)
        program.outer = opt.MovingAverageOptimizer(program.optimizer, average_decay=0.5)
        return program

    program, oracle = made(False), made(True)
    attached = program.optimizer if given == "inner" else program.outer
    frozen = fc.freeze(program.target, fc.FreezeSpec.empty(), optimizer=attached)
    program.finish()
    oracle.finish()
    graph_kit.train_beside(program, oracle, range(2), {})
    frozen.freeze(MASKS, session=program.session)
    oracle.set_frozen(MASKS)
    graph_kit.train_beside(program, oracle, range(2, 5))
    with program.session.graph.as_default():
        kept = program.trained + [program.outer._ema.average(v) for v in program.trained]
        path = program.outer.swapping_saver(kept).save(program.session, str(tmp_path / "m"))
    saved = {name: tf.train.load_variable(path, variable.op.name) for name, variable in program.target.items()}
    assert_averages(saved, program, oracle.averages())
    frozen.verify(session=program.session)
