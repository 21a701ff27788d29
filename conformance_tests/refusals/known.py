"""What is known of an operation's refusals in a run: found once, when a call first raises."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from veriformer.adapters.errors import AdapterError, OperationRaised
from veriformer.conformance_tests.core.inputs import Inputs
from veriformer.conformance_tests.core.subject import Subject, WrongShape
from veriformer.conformance_tests.drawing.limits import Limits
from veriformer.conformance_tests.refusals.describing import described
from veriformer.conformance_tests.refusals.features import features_of
from veriformer.conformance_tests.refusals.refusal import Refusal
from veriformer.conformance_tests.refusals.survey import Survey


@dataclass
class KnownRefusals:
    """The refusals of one operation.

    What is found depends on the run's seed and the operation only, and so not on which law meets a refusal first, or in
    which process.
    """

    subject: Subject
    limits: Limits
    found: tuple[Refusal, ...] = ()
    _asked: bool = field(default=False, repr=False)

    def about(self, inputs: Inputs) -> Refusal | None:
        """Return the refusal of a call on these inputs; None where the call may be made."""
        if not self.found:
            return None
        call = features_of(inputs)
        return next((refusal for refusal in self.found if refusal.covers(call)), None)

    def learn(self, raised: Inputs | None = None) -> bool:
        """Find, at the first exception, what is refused; return whether anything was found.

        Inputs that raised and are answered when the call is repeated were not refused, and nothing is asked.
        """
        if self._asked or (raised is not None and self._is_answered(raised)):
            return False
        self._asked = True
        survey = Survey(self.subject, self.limits, self.found)
        new = described(self.subject.operation.name, survey)
        self.found += new
        return bool(new)

    def _is_answered(self, inputs: Inputs) -> bool:
        try:
            replace(self.subject, calls=[], refusals=None).call(inputs)
        except OperationRaised:
            return False
        except (AdapterError, WrongShape):
            return True
        return True
