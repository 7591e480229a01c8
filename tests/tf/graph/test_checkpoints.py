"""Checkpoints that a Saver writes: `freezecompat verify` finds the variables of the graph in them."""

import json

import tensorflow as tf

import freezecompat as fc
from freezecompat import cli
from freezecompat.model_files import open_model

v1 = tf.compat.v1
SPEC = {"freezecompat": 1, "freeze": [{"weight": "hidden/kernel", "elements": [[1, 2], [3, 1]]}]}


def verify(before, after):
    return cli.main(["verify", before, after, "--spec", "spec.json"])


def test_what_moved_between_checkpoints(tmp_path, monkeypatch):
    """Formats V1 and V2, Adam's slots left out; a variable in parts is one weight."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "spec.json").write_text(json.dumps(SPEC))
    kernel = v1.get_variable("hidden/kernel", (4, 3))
    parts = v1.get_variable("parts", (6, 3), partitioner=v1.fixed_size_partitioner(2))
    optimizer = v1.train.AdamOptimizer(0.1)
    fc.freeze(None, {"hidden/kernel": [(1, 2), (3, 1)]}, optimizer=optimizer)
    step = v1.train.get_or_create_global_step()
    train = optimizer.minimize(tf.reduce_sum(tf.square(kernel)) + tf.reduce_sum(parts), global_step=step)
    savers = [v1.train.Saver(write_version=version) for version in (v1.train.SaverDef.V1, v1.train.SaverDef.V2)]
    with v1.Session() as session:
        session.run(v1.global_variables_initializer())
        before = [saver.save(session, "before-{}".format(k)) for k, saver in enumerate(savers)]
        session.run(train)
        after = [saver.save(session, "after-{}".format(k)) for k, saver in enumerate(savers)]
        values = session.run(tf.convert_to_tensor(parts))
        session.run(kernel.assign(kernel + 1))
        moved = [saver.save(session, "moved-{}".format(k)) for k, saver in enumerate(savers)]
    for path in after:
        file = open_model(path)
        assert [(row.address, row.shape) for row in file.rows] == [("hidden/kernel", (4, 3)), ("parts", (6, 3))]
        assert file.read("parts").tobytes() == values.tobytes()
    for one, other in ((0, 1), (1, 0), (1, 1)):
        assert verify(before[one], after[other]) == 0
        assert verify(before[one], moved[other]) == 1
