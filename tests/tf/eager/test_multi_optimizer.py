"""Keras 3's MultiOptimizer: each optimizer inside it has slots of its own."""

import pytest

import freezecompat as fc
import kits
import runtimes

KERAS = runtimes.keras_packages().get("keras3")
pytestmark = pytest.mark.skipif(
    not hasattr(getattr(KERAS, "optimizers", None), "MultiOptimizer"), reason="Keras 3.15 on"
)


@pytest.fixture
def compiled():
    optimizers = KERAS.optimizers
    inside = optimizers.OptimizerMap(optimizers.SGD(0.1, momentum=0.9), {".*kernel": optimizers.Adam(0.05)})
    return kits.Kit(KERAS, optimizers, "keras3").compiled(optimizers.MultiOptimizer(inside))


def test_frozen_elements_hold_under_warm_slots_and_start_again_with_fresh_ones(compiled):
    kits.fit(compiled)
    frozen = fc.freeze(compiled, {"hidden/kernel": [(1, 2)], "hidden/bias": [1]})
    before = kits.values(compiled)
    kits.fit(compiled)
    kits.assert_held_and_free_moved(before, kits.values(compiled), frozen.masks)
    frozen.verify()
    slots = [
        slot for one in compiled.optimizer.optimizers for slot in kits.slots_of(one, (4, 3)) + kits.slots_of(one, (3,))
    ]
    moments, velocity = [slot for slot in slots if slot.ndim == 2], [slot for slot in slots if slot.ndim == 1]
    assert len(moments) == 2 and all(slot[1, 2] == 0 and slot[0, 0] != 0 for slot in moments)
    assert len(velocity) == 1 and velocity[0][1] == 0 and velocity[0][0] != 0
    frozen.thaw()
    before = kits.values(compiled)
    kits.fit(compiled)
    kits.assert_all_moved(before, kits.values(compiled))


def test_an_inner_optimizer_without_slots_of_the_weight_is_left_alone(compiled):
    with fc.freeze(compiled, {"out/bias": "all"}):
        before = kits.values(compiled)
        kits.fit(compiled)
        assert kits.values(compiled)[3].tobytes() == before[3].tobytes()
