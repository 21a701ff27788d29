"""Laws of training steps."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from veriformer.adapters.results import join
from veriformer.conformance_tests.core.law import judges
from veriformer.conformance_tests.core.trial import Trial
from veriformer.conformance_tests.core.verdict import Verdict, compare
from veriformer.conformance_tests.operations.models.trees import arrays_by_path
from veriformer.conformance_tests.operations.parts import agrees, worst
from veriformer.conformance_tests.operations.training.cases import TrainingSpace
from veriformer.conformance_tests.operations.training.inputs import Follower, TrainingInputs

_TRAINING = ("training_steps",)
_ONE = TrainingSpace(rates=("one",))
_IN_PARTS = replace(_ONE, micro_batches="always", least_batch=2, least_length=4)


@judges("losses", space=TrainingSpace(rates=("one", "last")), operations=_TRAINING)
def losses(trial: Trial[TrainingInputs]) -> Verdict:
    """The loss of each step is that of the weights before it, as far as they are known."""
    return agrees(trial, trial.inputs, "losses")


@judges("first_step", space=_ONE, operations=_TRAINING)
@judges("later_step", space=TrainingSpace(rates=("last",)), operations=_TRAINING)
def weights(trial: Trial[TrainingInputs]) -> Verdict:
    """The weights after the steps are the reference's."""
    return agrees(trial, trial.inputs, *(name for name in trial.inputs.parts if name != "losses"))


@judges("every_step", space=TrainingSpace(rates=("all",)), operations=_TRAINING)
def every_step(trial: Trial[TrainingInputs]) -> Verdict:
    """Trained for one step more each time, the implementation goes where the step leads from where it was."""
    whole = trial.inputs
    follower, known, verdicts = Follower(whole, trial.conventions), whole.weights, []
    for number in range(1, len(whole.learning_rates) + 1):
        inputs = whole.first(number)
        step, output = follower.step(known), trial.output(inputs)
        loss = follower.expected(step.loss)
        found = inputs.part("losses")(output)[-1]
        verdicts.append(compare(loss.value, found, loss.allowed, loss.judged, f"the loss of step {number}"))
        for path, estimate in step.weights.items():
            after = follower.expected(estimate)
            arrived = inputs.part(f"weights.{path}")(output)
            name = f"{path} after step {number}"
            verdicts.append(compare(after.value, arrived, after.allowed, after.judged, name))
        if not all(verdict.holds for verdict in verdicts):
            break
        known = inputs.trained(output)
    return worst(verdicts)


@judges("rate.zero", space=TrainingSpace(rates=("zero",)), operations=_TRAINING)
def without_rate(trial: Trial[TrainingInputs]) -> Verdict:
    """Steps of rate 0 leave the weights as they were, and every loss is that of the given ones."""
    inputs = replace(trial.inputs, weight_decay=0.0)
    of_weights = slice(len(inputs.learning_rates), None)
    given, trained = join(list(arrays_by_path(inputs.weights).values())), trial.output(inputs)[of_weights]
    trial.expected(inputs)
    stayed = trial.within(given, trained, lambda bound: bound(inputs)[of_weights], None, "weights")
    return worst([agrees(trial, inputs, "losses"), stayed])


@judges("samples.order", space=replace(_ONE, least_batch=2), operations=_TRAINING)
def order(trial: Trial[TrainingInputs]) -> Verdict:
    """A batch whose samples come in another order has the same loss and moves the weights alike."""
    inputs = trial.inputs
    return trial.equal(inputs, inputs.take_samples(np.roll(np.arange(inputs.tokens.shape[1]), 1)))


@judges("micro_batches", space=_IN_PARTS, operations=_TRAINING)
def parts(trial: Trial[TrainingInputs]) -> Verdict:
    """A batch that is processed one sample at a time is as one that is processed at once."""
    return trial.equal(trial.inputs, replace(trial.inputs, micro_batches=None))
