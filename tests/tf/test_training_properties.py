"""Whatever the shape, the masks, and when elements are frozen and thawed: the same as a plain numpy model in float32.

Frozen elements bit for bit; the free ones within 4 ULP of the first value for each step, since numpy rounds after each operation
where a fused kernel need not. `--every-option` draws more examples.
"""

import hypothesis
import hypothesis.strategies as st
import numpy as np
import pytest

import freezecompat as fc
import given
import runtimes

ULPS = 4
F = np.float32


class Sgd:
    slots = 0

    def step(self, w, g, slots, t):
        return w - F(0.1) * g


class Momentum:
    slots = 1

    def step(self, w, g, slots, t):
        slots[0] = F(0.9) * slots[0] + g
        return w - F(0.1) * slots[0]


class Adam:
    slots = 2
    beta1, beta2 = F(0.9), F(0.999)

    def step(self, w, g, slots, t):
        one = F(1)
        slots[0] = slots[0] + (g - slots[0]) * (one - self.beta1)
        slots[1] = slots[1] + (g * g - slots[1]) * (one - self.beta2)
        # The powers are float32 too, multiplied anew in each step.
        power1, power2 = (np.cumprod(np.full(t, beta, F), dtype=F)[-1] for beta in (self.beta1, self.beta2))
        rate = F(0.05) * np.sqrt(one - power2) / (one - power1)
        return w - rate * slots[0] / (np.sqrt(slots[1]) + F(1e-8))


MODELS = {"sgd": Sgd, "momentum": Momentum, "adam": Adam}


@st.composite
def runs(draw):
    """(start, [(mask from here on, gradient)]) of one weight."""
    shape = tuple(draw(st.lists(st.integers(1, 3), min_size=0, max_size=3)))
    random = np.random.RandomState(draw(st.integers(0, 2**16)))
    steps = []
    mask = np.zeros(shape, bool)
    for _ in range(draw(st.integers(1, 6))):
        if draw(st.booleans()):
            mask = np.asarray(random.uniform(size=shape) < draw(st.sampled_from([0, 0.3, 0.7, 1])))
        steps.append((mask, np.asarray(random.uniform(-1, 1, shape), F)))
    return np.asarray(random.uniform(1, 2, shape), F), steps


@pytest.mark.parametrize("name", sorted(MODELS))
def test_as_a_numpy_model(name, request):
    examples = 60 if request.config.getoption("--every-option") else 8 if runtimes.EAGER else 3

    @hypothesis.settings(max_examples=examples, database=None, derandomize=examples < 60)
    @hypothesis.given(runs())
    def check(run):
        with given.place_of_its_own():
            compare(name, *run)

    check()


def compare(name, start, steps):
    loop = (given.Steps if runtimes.EAGER else given.InGraph)(
        runtimes.v1_optimizers()[name], {"w": start}, {"w": steps[0][1]}
    )
    frozen = fc.freeze(loop.variables, fc.FreezeSpec.empty(), optimizer=loop.optimizer)
    loop.finish()
    model, expected = MODELS[name](), start
    slots = [np.zeros_like(start) for _ in range(model.slots)]
    before = np.zeros(start.shape, bool)
    for t, (mask, gradient) in enumerate(steps, 1):
        frozen.thaw(session=loop.session)
        if mask.any():
            frozen.freeze({"w": mask}, session=loop.session)
        # Thawed and frozen at once is a change and back: the slots of what was frozen are fresh either way.
        slots = [np.where(before | mask, F(0), slot) for slot in slots]
        held = loop.values()["w"]
        loop.step({"w": gradient})
        now = loop.values()["w"]
        stepped = model.step(expected, np.where(mask, F(0), gradient), slots, t)
        expected = np.where(mask, expected, stepped)
        assert now[mask].tobytes() == held[mask].tobytes()
        assert (np.abs(now - expected) <= ULPS * len(steps) * np.spacing(np.abs(start))).all(), (now, expected)
        before = mask
    frozen.verify(session=loop.session)
