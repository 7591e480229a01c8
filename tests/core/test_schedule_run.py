"""A schedule at work, without TensorFlow: on a freeze of numpy arrays that stands in for a Frozen."""

import json

import numpy as np
import pytest

import freezecompat as fc
from freezecompat import Schedule
from freezecompat.elements import largest, random, smallest, where
from freezecompat.element_set import ElementSet
from freezecompat.masks import Selection, build
from freezecompat.resolve import Weight

SHAPES = {"a": (4,), "b": (2, 5)}


class Freeze:
    """A training of arrays: a step moves what is free; `resets` are the elements whose slots were made fresh."""

    def __init__(self, own=(), values=None, steps=None):
        self.values = values or {n: np.linspace(1, 2, int(np.prod(s))).reshape(s) for n, s in SHAPES.items()}
        self._own = dict(own)
        self.steps = steps  # the optimizer's count; None: it has none
        self.counter = object()
        self.has_session = True
        self.resets = []
        self.schedule_done = lambda: None

    def train(self):
        for k, (name, values) in enumerate(sorted(self.values.items())):
            free = ~self.mask(name)
            self.values[name] = np.where(
                free, values - 0.01 * (k + 1) * np.arange(1, values.size + 1).reshape(values.shape), values
            )
        if self.steps is not None:
            self.steps += 1

    @property
    def sets(self):
        return dict(self._own)

    def mask(self, name):
        return self.sets[name].dense() if name in self.sets else np.zeros(SHAPES[name], bool)

    def select(self, spec, session=None, may_be_empty=True):
        rows = [Weight(name, shape) for name, shape in SHAPES.items()]
        return spec if isinstance(spec, Selection) else build(spec, rows, lambda n: self.values[n], may_be_empty)

    def check(self, spec):
        if not any(rule.elements.needs_values for rule in spec.every_rule()):
            self.select(spec, may_be_empty=False)

    def freeze(self, selection, session=None):
        self._set({n: self.sets.get(n, ElementSet.empty(e.shape)) | e for n, e in selection.sets.items()}, True)

    def thaw(self, selection, session=None):
        self._set({n: self.sets.get(n, ElementSet.empty(e.shape)) - e for n, e in selection.sets.items()}, True)

    def become(self, own, session=None):
        self._set(dict({n: ElementSet.empty(e.shape) for n, e in self.sets.items()}, **own), False)

    def _set(self, wanted, reset):
        for name, elements in wanted.items():
            changed = elements ^ self.sets.get(name, ElementSet.empty(elements.shape))
            if reset and changed:
                self.resets.append((name, changed.flat().tolist()))
            self._own[name] = elements
        self._own = {name: elements for name, elements in self._own.items() if elements}

    def reads(self, session=None):
        return self.has_session

    def counts_steps(self):
        return self.steps is not None

    def steps_taken(self, session=None):
        return None if self.steps is None else (self.counter, self.steps)

    @property
    def frozen(self):
        return {name: elements.flat().tolist() for name, elements in self.sets.items()}


@pytest.fixture(params=["counted by the optimizer", "counted by the run"])
def freeze(request):
    return Freeze(steps=0 if "optimizer" in request.param else None)


def loop(freeze, run, steps):
    for _ in range(steps):
        freeze.train()
        run.step()


def epoch(freeze, run, number, batches=2, at_once=1, logs=None):
    """What Keras calls."""
    run.on_epoch_begin(number)
    for batch in range(0, batches, at_once):
        run.on_train_batch_begin(batch)
        for _ in range(at_once):
            freeze.train()
        run.on_train_batch_end(batch + at_once - 1, {"loss": 0.5})
    run.on_epoch_end(number, logs or {"loss": 0.5})


def test_by_steps(freeze):
    """Once, before the first step too, and again and again; what is due at one step is done in the schedule's order."""
    schedule = (
        Schedule()
        .freeze({"a": (0,)}, step=0)
        .freeze({"a": (1,)}, step=2)
        .thaw({"a": (1,)}, step=2)
        .freeze({"a": (2,)}, every_steps=3)
        .thaw({"a": (2,)}, step=4)
        .thaw(step=7)
    )
    run = schedule.on(freeze)
    seen = [freeze.frozen]
    for _ in range(7):
        loop(freeze, run, 1)
        seen.append(freeze.frozen.get("a"))
    assert seen == [{"a": [0]}, [0], [0], [0, 2], [0], [0], [0, 2], None]
    assert run.done["steps"] == 7 and run.done["times"] == [1, 1, 1, 2, 1, 1]


def test_values_are_those_of_the_time(freeze):
    """A predicate is evaluated when it acts; what selects nothing then is no error."""
    run = Schedule().freeze({"a": where("w < 0.97")}, every_steps=2).on(freeze)  # a[0] is 1, and 0.01 less at each step
    loop(freeze, run, 3)
    assert not freeze.frozen
    loop(freeze, run, 5)
    assert freeze.frozen == {"a": [0]} and abs(freeze.values["a"][0] - 0.96) < 1e-9


def test_several_steps_between_two_calls(freeze):
    """All that is due is done, in the order of the steps, with the values of now; a count and a position say the same."""
    schedule = (
        Schedule().freeze({"a": (0,)}, every_steps=2).thaw({"a": (0,)}, every_steps=3).freeze({"b": (0, 0)}, step=1)
    )
    run = schedule.on(freeze)
    for _ in range(5):
        freeze.train()
    run.step(5)
    assert freeze.frozen == {"a": [0], "b": [0]}  # frozen at 2, thawed at 3, frozen at 4
    assert run.done["times"] == [2, 1, 1]
    for _ in range(4):
        freeze.train()
    run.step(9)
    assert freeze.frozen == {"b": [0]} and run.done["times"] == [4, 3, 1]


def test_steps_per_execution_of_keras(freeze):
    """Three batches a call: the count is right, and what is due within them is done after them."""
    run = Schedule().freeze({"a": (0,)}, step=4).on(freeze)
    epoch(freeze, run, 0, batches=6, at_once=3)
    assert run.done["steps"] == 6 and freeze.frozen == {"a": [0]}


def test_an_epoch_that_goes_on_in_its_middle(freeze):
    """Keras' BackupAndRestore begins with the batch after the last one that was saved."""
    run = Schedule().thaw(step=9).on(freeze)
    run.on_epoch_begin(0)
    for batch in (3, 4):
        run.on_train_batch_begin(batch)
        freeze.train()
        run.on_train_batch_end(batch)
    assert run.done["steps"] == 2


def test_by_epochs_in_two_fits(freeze):
    """epoch= acts before the epoch that Keras numbers so; a second fit counts from 0 again, and the training goes on."""
    schedule = Schedule().freeze({"a": (0,)}, epoch=0).thaw_in_turn(["b"], every_epochs=3).freeze({"a": (1,)}, epoch=3)
    freeze.become({"b": ElementSet.full((2, 5))})
    run = schedule.on(freeze)
    assert freeze.frozen["a"] == [0]
    epoch(freeze, run, 0)
    epoch(freeze, run, 1)
    assert freeze.frozen["a"] == [0] and "b" in freeze.frozen
    epoch(freeze, run, 0)
    assert freeze.frozen == {"a": [0, 1]} and run.done["epochs"] == 3 and run.done["steps"] == 6
    for options, epochs in (({}, 5), ({"from_here": True}, 0)):
        run = schedule.on(Freeze(), **options)
        run.on_epoch_begin(5)  # initial_epoch=, in a process that has seen no epoch
        assert run.done["epochs"] == epochs


def test_growing(freeze):
    """The k-th time k times the fraction of each weight is frozen, those that were frozen before among it; at most all."""
    run = Schedule().freeze({"b": smallest(0.3), "a": random(1)}, every_epochs=1, growing=True).on(freeze)
    counts, before = [], set()
    for number in range(5):
        epoch(freeze, run, number)
        assert before <= set(freeze.frozen["b"])
        before = set(freeze.frozen["b"])
        counts.append((len(freeze.frozen["b"]), len(freeze.frozen["a"])))
    assert counts == [(3, 1), (6, 2), (9, 3), (10, 4), (10, 4)]


def test_growing_takes_the_smallest_that_are_free():
    """What was thawed by hand is made up for; largest likewise; of random, the same ones and more."""
    freeze = Freeze()
    freeze.values["a"] = np.array([4.0, 1.0, 3.0, 2.0])
    run = Schedule().freeze({"a": largest(1)}, every_steps=1, growing=True).on(freeze)
    run.step()
    assert freeze.frozen["a"] == [0]
    freeze.values["a"][0] = 0.0  # frozen all the same
    run.step()
    assert freeze.frozen["a"] == [0, 2]
    freeze.thaw(freeze.select(fc.FreezeSpec({"a": (0,)})))
    run.step()
    assert freeze.frozen["a"] == [1, 2, 3]
    freeze = Freeze()
    run = Schedule().freeze({"b": random(0.2, seed=5)}, every_steps=1, growing=True).on(freeze)
    run.step(2)
    assert freeze.frozen == {n: e.flat().tolist() for n, e in freeze.select({"b": random(0.4, seed=5)}).sets.items()}


def test_a_condition_by_itself(freeze):
    """Checked at the end of each epoch, and acts once; NaN compares false."""
    run = Schedule().freeze({"a": "all"}, when="val_loss < 0.1 and accuracy > 0.9").thaw(when="loss > 9").on(freeze)
    for number, logs in enumerate([{"val_loss": 0.5, "accuracy": 1.0}, {"val_loss": float("nan"), "accuracy": 1.0}]):
        epoch(freeze, run, number, logs=dict(logs, loss=0.5))
    assert not freeze.frozen
    epoch(freeze, run, 2, logs={"val_loss": np.float32(0.05), "accuracy": np.array(0.95), "loss": 0.5})
    assert freeze.frozen == {"a": [0, 1, 2, 3]} and run.done["times"] == [1, 0]
    freeze.thaw(Selection(freeze.sets, {}))
    epoch(freeze, run, 3, logs={"val_loss": 0.05, "accuracy": 0.95, "loss": 0.5})
    assert not freeze.frozen


def test_a_condition_every_so_often(freeze):
    """Checked then, with the logs of that batch, and acts each time that it holds: growing counts those times."""
    run = Schedule().freeze({"b": smallest(0.1)}, every_steps=2, when="loss < 1", growing=True).on(freeze)
    for loss in (0.5, 2.0, 0.5, 0.5, 0.5, 0.5):
        freeze.train()
        run.step(logs={"loss": loss})
    assert len(freeze.frozen["b"]) == 2 and run.done["times"] == [2]


def test_logs_that_lack_a_name_are_told_once(freeze):
    run = Schedule().thaw(step=9).freeze({"a": "all"}, when="val_loss < 1").on(freeze)
    with pytest.warns(
        UserWarning, match=r"entry 2, .*, was not checked: the logs have no val_loss; they have loss"
    ) as seen:
        epoch(freeze, run, 0)
        epoch(freeze, run, 1)
    assert len(seen) == 1
    with pytest.raises(ValueError, match=r"logs\['val_loss'\] is a number, received 'low'"):
        run.step(logs={"val_loss": "low"})


RESUMED = (
    Schedule()
    .freeze({"a": where("w < 1.2")}, every_steps=2)
    .thaw({"a": (0,)}, step=5)
    .freeze({"b": smallest(0.1)}, every_steps=3, growing=True)
    .freeze({"b": (1, 4)}, when="loss < 1")
)


@pytest.mark.parametrize("optimizer", ["counts on", "is new", "counts nothing"])
def test_resumed_is_as_uninterrupted(optimizer):
    """Stopped at each step and made anew, with run.done through JSON: the same sets, and the same bytes, to the end."""
    whole = Freeze(steps=None if optimizer == "counts nothing" else 0)
    run = RESUMED.on(whole)
    resumed, again = Freeze(steps=whole.steps), None
    again = RESUMED.on(resumed)
    for step in range(12):
        for one, its in ((whole, run), (resumed, again)):
            one.train()
            its.step(logs={"loss": 5 - step})
        assert resumed.frozen == whole.frozen and resumed.resets == whole.resets[-len(resumed.resets) or 99 :]
        assert all(resumed.values[n].tobytes() == whole.values[n].tobytes() for n in SHAPES)
        done = json.loads(json.dumps(again.done))
        steps = {"counts on": resumed.steps, "is new": 0, "counts nothing": None}[optimizer]
        resumed = Freeze(resumed.sets, resumed.values, steps)
        again = RESUMED.on(resumed, done=done)
        assert again.done["steps"] == step + 1 and not resumed.resets
    assert len(whole.frozen["b"]) == 4  # four times a tenth, what the condition has frozen among it


def test_done_comes_from_the_file():
    """What frozen.save has kept, and fc.restore given to the Frozen, is taken; the run gives its own to the next save."""
    freeze = Freeze()
    schedule = Schedule().freeze({"a": (0,)}, every_steps=2)
    freeze.schedule_done = lambda: {
        "freezecompat_schedule_done": 1,
        "schedule": None,
        "steps": 5,
        "epochs": 1,
        "times": [2],
        "offset": 0,
    }
    run = schedule.on(freeze)
    assert not freeze.frozen and freeze.schedule_done()["steps"] == 5
    run.step()
    assert freeze.frozen == {"a": [0]} and freeze.schedule_done()["times"] == [3]
    assert schedule.on(freeze, from_here=True).done["steps"] == 0


def test_without_done_what_depends_on_no_value_is_made_up_for():
    """A checkpoint has brought the count and the slots: the sets are those of step 7, and no slot is touched."""
    schedule = Schedule().freeze({"a": "all"}, step=1).freeze({"b": (0, 0)}, every_steps=2).thaw({"a": (3,)}, step=6)
    whole = Freeze(steps=0)
    loop(whole, schedule.on(whole), 7)
    freeze = Freeze(steps=7)
    run = schedule.on(freeze)
    assert freeze.frozen == whole.frozen == {"a": [0, 1, 2], "b": [0]} and not freeze.resets
    assert run.done == dict(schedule.on(whole).done, schedule=schedule.fingerprint) and run.done["times"] == [1, 3, 1]
    freeze.train()
    run.step()
    assert freeze.resets == []  # it was frozen already


def test_a_checkpoint_that_is_restored_after_on():
    """As BackupAndRestore does, in on_train_begin: the first epoch sees it; steps and epochs may both lie ahead."""
    schedule = Schedule().freeze({"a": "all"}, step=0).thaw({"a": (0,)}, step=3).freeze({"b": (0, 1)}, epoch=1)
    freeze = Freeze(steps=0)
    run = schedule.on(freeze)
    freeze.steps, freeze.resets = 4, []
    run.on_epoch_begin(2)
    assert freeze.frozen == {"a": [1, 2, 3], "b": [1]} and not freeze.resets


def test_done_and_a_checkpoint_that_is_restored_after_on():
    """The file says step 4 before BackupAndRestore brings the optimizer's count, which is the same step 4."""
    schedule = Schedule().freeze({"a": smallest(0.5)}, every_steps=4)
    done = dict(schedule.on(Freeze()).done, steps=4, times=[1])
    freeze = Freeze(steps=0)
    run = schedule.on(freeze, done=done)
    assert run.done["steps"] == 4
    freeze.steps = 4
    epoch(freeze, run, 0, batches=3)
    assert run.done["steps"] == 7 and not freeze.frozen


@pytest.mark.parametrize(
    "schedule",
    [
        Schedule().freeze({"a": where("w > 0")}, step=3),
        Schedule().freeze({"a": smallest(0.5)}, every_steps=5),
        Schedule().thaw(when="loss < 1"),
        Schedule().thaw({"a": "all"}, every_steps=5, when="loss < 1"),
    ],
)
def test_a_past_that_is_not_known_is_refused(schedule):
    """What depends on values or logs that are gone: the error says what to do; from_here=True begins anew."""
    with pytest.raises(
        fc.PastUnknown, match=r"entry 1, .*at step 8, epoch 0, known .* step 0, .*fc\.restore\(target, path"
    ):
        schedule.on(Freeze(steps=8))
    run = schedule.on(Freeze(steps=8), from_here=True)
    assert run.done["steps"] == 0
    run.step(3, logs={"loss": 9.0})
    done = dict(run.done, steps=8)
    assert schedule.on(Freeze(steps=8), done=dict(done, offset=0)).done["steps"] == 8


def test_what_acted_before_a_checkpoint_was_restored_is_refused():
    """Elements chosen by the values that the checkpoint has replaced."""
    freeze = Freeze(steps=0)
    run = Schedule().freeze({"a": smallest(0.5)}, step=0).on(freeze)
    freeze.steps = 4
    with pytest.raises(fc.PastUnknown, match="entry 1, .*smallest"):
        run.on_epoch_begin(0)


def test_due_at_this_very_step_is_done():
    """A checkpoint of step 4, saved before or after what was due at 4: the values are those of then."""
    freeze = Freeze(steps=4)
    run = Schedule().freeze({"a": smallest(0.5)}, step=4).on(freeze)
    assert freeze.frozen == {"a": [0, 1]} and run.done["times"] == [1]


def test_a_training_that_goes_back():
    """A session is recovered, or a checkpoint restored: what came later is undone, and comes again; slots are kept."""
    schedule = RESUMED.thaw({"b": "all"}, step=8).thaw(step=9)
    whole, freeze = Freeze(steps=0), Freeze(steps=0)
    run, again = schedule.on(whole), schedule.on(freeze)
    for one, its in ((whole, run), (freeze, again)):
        loop(one, its, 3)
    saved = dict(freeze.values)
    at_three = freeze.frozen, again.done
    loop(whole, run, 6)
    loop(freeze, again, 6)
    freeze.values, freeze.steps = dict(saved), 3
    resets = len(freeze.resets)
    again.on_epoch_begin(0)
    assert (freeze.frozen, again.done) == at_three and len(freeze.resets) == resets + 1  # that of step 3 itself
    loop(freeze, again, 6)
    assert freeze.frozen == whole.frozen and again.done == run.done
    assert all(freeze.values[n].tobytes() == whole.values[n].tobytes() for n in SHAPES)
    freeze.steps = 1
    with pytest.raises(fc.PastUnknown, match="gone back from step 9 to step 1"):
        schedule.on(freeze, done=dict(again.done))


def test_a_condition_that_was_met_at_the_step_of_the_checkpoint():
    """Its logs are gone, so that it can't be checked again: it is done again; what was met later is undone."""
    freeze = Freeze(steps=0)
    run = Schedule().freeze({"a": (0,)}, when="loss < 1").freeze({"a": (1,)}, when="loss < 0.5").on(freeze)
    for loss in (2.0, 0.9, 0.1):
        freeze.train()
        run.step(logs={"loss": loss})
    freeze.steps = 2
    run.on_epoch_begin(0)
    assert freeze.frozen == {"a": [0]} and run.done["times"] == [1, 0]


def test_what_changes_nothing_is_not_kept():
    """A schedule that acts at every step needs no memory for it, and still knows what it has done when it goes back."""
    freeze = Freeze(steps=0)
    schedule = Schedule().freeze({"a": (0,)}, every_steps=1).freeze({"a": where("w < -9")}, every_steps=2)
    run = schedule.on(freeze)
    loop(freeze, run, 50)
    assert len(run._deeds) == 1
    freeze.steps = 20
    run.on_epoch_begin(0)
    assert run.done["times"] == [20, 10] and freeze.frozen == {"a": [0]}


def test_further_back_than_the_restart_is_refused():
    """What was frozen before it is not known."""
    schedule = Schedule().freeze({"a": (0,)}, step=1).thaw(step=3)
    freeze = Freeze(steps=4)
    run = schedule.on(freeze)
    loop(freeze, run, 2)
    freeze.steps = 2
    with pytest.raises(fc.PastUnknown, match="gone back from step 6 to step 2, and what was frozen there is not known"):
        run.on_epoch_begin(0)


def test_epochs_go_back_with_the_steps():
    freeze = Freeze(steps=0)
    run = Schedule().freeze({"a": (0,)}, epoch=1).freeze({"a": (1,)}, epoch=3).on(freeze)
    for number in range(3):
        epoch(freeze, run, number)
    assert freeze.frozen == {"a": [0, 1]}
    freeze.steps = 5
    run.on_epoch_begin(2)
    assert freeze.frozen == {"a": [0]} and (run.done["steps"], run.done["epochs"]) == (5, 2)


def test_a_new_optimizer_goes_on_counting():
    """compile() between two fits: the new optimizer counts from 0, the schedule goes on."""
    freeze = Freeze(steps=0)
    run = Schedule().freeze({"a": (0,)}, step=5).on(freeze)
    epoch(freeze, run, 0, batches=3)
    freeze.steps, freeze.counter = 0, object()
    epoch(freeze, run, 0, batches=3)
    assert run.done["steps"] == 6 and run.done["offset"] == 3 and freeze.frozen == {"a": [0]}
    resumed = Freeze(freeze.sets, freeze.values, steps=3)
    assert run.schedule.on(resumed, done=run.done).done["steps"] == 6


@pytest.mark.parametrize(
    "change, error, text",
    [
        ({"times": [1]}, ValueError, "done is that of another schedule"),
        ({"schedule": "0" * 64}, ValueError, r"another schedule.*from_here=True"),
        ({"steps": -1}, ValueError, "done has counts that are none"),
        ({"times": [0, 1.5]}, ValueError, "done has counts that are none"),
        ({"times": 3}, ValueError, "done has counts that are none"),
        ({"offset": "0"}, ValueError, "done has counts that are none"),
        ({"freezecompat_schedule_done": 2}, ValueError, "done has version 2"),
        ({"more": 1}, ValueError, "'more' is unknown"),
        (None, TypeError, r"done= is what run\.done gave, a dict; received 7"),
    ],
)
def test_no_done(change, error, text):
    """A done of another schedule, or none at all."""
    schedule = Schedule().thaw(step=1).thaw(step=2)
    done = schedule.on(Freeze()).done
    with pytest.raises(error, match=text):
        schedule.on(Freeze(), done=7 if change is None else dict(done, **change))


def test_what_can_never_act_is_refused_at_once():
    """An address that is not there, before a step is taken; it names the entry."""
    with pytest.raises(fc.UnknownWeight, match="entry 2: entry 1, 'c': "):
        Schedule().thaw(step=1).freeze({"c": "all"}, step=1000).on(Freeze())
    with pytest.raises(IndexError, match="entry 1: entry 1, 'a': "):
        Schedule().freeze({"a": (9,)}, step=1000).on(Freeze())


def test_as_a_hook():
    """It acts after each run, by the graph's count; it sees no logs and no epochs, and needs a count."""
    freeze = Freeze(steps=0)
    freeze.has_session = False
    run = Schedule().freeze({"a": (0,)}, step=0).freeze({"a": (1,)}, step=2).on(freeze)
    with pytest.raises(ValueError, match=r"pass session= to schedule\.on\(\)"):
        run.step()
    assert not freeze.frozen
    run.begin()
    run.after_create_session(object(), None)
    assert freeze.frozen == {"a": [0]}

    class Context:
        session = object()

    for _ in range(2):
        assert run.before_run(Context) is None
        freeze.train()
        run.after_run(Context, None)
    run.end(Context.session)
    assert freeze.frozen == {"a": [0, 1]}
    for schedule in (Schedule().thaw(when="loss < 1"), Schedule().thaw(epoch=1)):
        with pytest.raises(ValueError, match=r"entry 1, .*: a hook sees neither logs nor epochs; call run\.step"):
            schedule.on(freeze, from_here=True).begin()
    with pytest.raises(ValueError, match="a hook needs a count of steps"):
        Schedule().on(Freeze()).begin()


def test_it_prints_where_it_is(freeze):
    run = Schedule().thaw(step=9).on(freeze)
    epoch(freeze, run, 0)
    assert repr(run) == "<Schedule().thaw(step=9) at step 2, epoch 1>"
