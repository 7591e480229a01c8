"""frozen.save and fc.restore of a session's values."""

import numpy as np
import pytest

import freezecompat as fc
import graph_kit
import programs
from graph_kit import KINDS, MASKS, v1


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_resumed_in_another_session(kind, tmp_path):
    """Saved with a TF1 checkpoint, restored with it in a new session: the same elements hold the same bytes."""
    cls = KINDS[kind]
    program, frozen = graph_kit.frozen_program(cls, spec=MASKS)
    graph_kit.train(program, range(3))
    path = str(tmp_path / "frozen.npz")
    frozen.save(path, session=program.session)
    checkpoint = v1.train.Saver().save(program.session, str(tmp_path / "model"))
    before = program.values()
    frozen.release(session=program.session)
    program.session = v1.Session(graph=program.session.graph)
    with pytest.raises(ValueError, match="pass session="):
        fc.restore(program.target, path, optimizer=program.optimizer)
    with pytest.raises(ValueError, match="run the initializer before"):
        fc.restore(program.target, path, optimizer=program.optimizer, session=program.session)
    program.session.run(v1.global_variables_initializer())
    again = fc.restore(
        program.target, path, optimizer=program.optimizer, session=program.session, accept_differing=True
    )
    now = program.values()
    for name, mask in MASKS.items():
        assert now[name][mask].tobytes() == before[name][mask].tobytes()
    v1.train.Saver().restore(program.session, checkpoint)
    again.verify(program.session)
    graph_kit.train(program, range(3, 6))
    graph_kit.assert_held_and_free_moved(before, program.values())
    again.verify(program.session)


def test_a_stale_session_is_not_saved(tmp_path):
    """Its steps do not hold what the file would say."""
    program, frozen = graph_kit.frozen_program(spec=MASKS)
    graph_kit.train(program, range(2))
    frozen.thaw({"bias": "all"})
    with pytest.raises(fc.StaleSession):
        frozen.save(tmp_path / "frozen.npz", session=program.session)
    with pytest.raises(ValueError, match="pass session="):
        frozen.save(tmp_path / "frozen.npz")
    assert not list(tmp_path.iterdir())
    frozen.sync(program.session)
    frozen.save(tmp_path / "frozen.npz", session=program.session)
    assert [weight.address for weight in fc._frozen_file.read(tmp_path / "frozen.npz").weights] == ["kernel", "table"]


def test_other_weights_are_refused(tmp_path):
    """A graph of other variables: nothing is attached."""
    program, frozen = graph_kit.frozen_program(spec=MASKS)
    frozen.save(tmp_path / "frozen.npz", session=program.session)
    v1.reset_default_graph()
    variable = v1.get_variable("kernel", initializer=np.zeros((2, 2), "f4"))
    optimizer = graph_kit.adam()
    with v1.Session() as session:
        session.run(v1.global_variables_initializer())
        with pytest.raises(fc.DoesNotFit, match=r"bias: saved \(3,\) float32, here none"):
            fc.restore({"kernel": variable}, tmp_path / "frozen.npz", optimizer=optimizer)
    assert "apply_gradients" not in vars(optimizer) and programs.STEPS
