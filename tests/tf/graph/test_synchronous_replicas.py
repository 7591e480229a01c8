"""SyncReplicasOptimizer: a queue's thread steps the optimizer inside it, in a run that waits for the gradients."""

import pytest

import freezecompat as fc
import graph_kit
from graph_kit import KINDS, MASKS, v1


def synchronous(kind, oracle=False, given=None):
    """A program of one replica in a MonitoredTrainingSession, and its Frozen if one of the two optimizers is given to it."""

    class Replica(KINDS[kind]):
        def minimize(self):
            self.global_step = v1.train.get_or_create_global_step()
            return self.outer.minimize(self.loss, global_step=self.global_step, var_list=self.trained)

    with v1.Graph().as_default():
        program = Replica(graph_kit.adam(), oracle=oracle)
        program.outer = v1.train.SyncReplicasOptimizer(program.optimizer, replicas_to_aggregate=1, total_num_replicas=1)
        optimizers = {"inner": program.optimizer, "outer": program.outer}
        frozen = given and fc.freeze(program.target, fc.FreezeSpec.empty(), optimizer=optimizers[given])
        program.train_op = program.minimize()
        hook = program.outer.make_session_run_hook(is_chief=True, num_tokens=0)
        monitored = v1.train.MonitoredTrainingSession(hooks=[hook], stop_grace_period_secs=0)
        program.close, program.session = monitored.close, monitored._tf_sess()
        for initializer in program.weights.initializers:
            program.session.run(initializer)
    return program, frozen


@pytest.mark.parametrize("kind", sorted(KINDS))
@pytest.mark.parametrize("given", ["inner", "outer"])
def test_frozen_and_thawed_while_the_queue_runs(given, kind):
    """Every freeze and thaw acts on the next step, although the run that takes it has begun."""
    program, frozen = synchronous(kind, given=given)
    oracle, _ = synchronous(kind, oracle=True)
    for masks, steps in [({}, range(0, 2)), (MASKS, range(2, 5)), ({}, range(5, 7))]:
        if masks:
            frozen.freeze(masks, session=program.session)
        else:
            frozen.thaw(session=program.session)
        with oracle.session.graph.as_default():
            oracle.set_frozen(masks)
        graph_kit.train_beside(program, oracle, steps, masks)
        frozen.verify(session=program.session)
    assert program.session.run(program.global_step) == 7
    program.close()
    oracle.close()
