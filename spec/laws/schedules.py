"""Laws of the schedules of learning rates."""

from __future__ import annotations

from veriformer.spec.laws.interface import WORKED_EXAMPLES
from veriformer.spec.laws.law import Property, state
from veriformer.spec.operations.schedules import WARMUP_COSINE, WARMUP_INVERSE_ROOT

COSINE = "Loshchilov & Hutter 2017 (SGDR), equation 5"
WARMUP = "Goyal et al. 2017, section 2.2"
ROOT = "Vaswani et al. 2017, section 5.3"
_START = ("warmup_start",)

COSINE_VALUE = Property(
    key="value",
    statement="The rate rises to the peak in a straight line, falls along half a cosine, and then stays.",
    formula="peak · t/W; least + (peak − least) (1 + cos(π (t − W)/(T − W)))/2; least",
    source=f"{COSINE}; {WARMUP}",
    reason="the definition",
    conventions=_START,
)
STRAIGHT = Property(
    key="warmup.straight",
    statement="The warm-up is a straight line that ends where the cosine begins.",
    formula="t ≤ W: (f(t) − f(0)) · W = t · (f(W) − f(0))",
    source=f"{WARMUP}: the rate is increased by a constant amount at each step",
    derivation="schedules",
    steps=("The warm-up rises by the same at each step", "The cosine begins at the peak"),
)
PEAK = Property(
    key="peak",
    statement="The rate is the peak at the end of the warm-up, and at step 0 if there is none.",
    formula="f(W) = peak",
    source=f"{COSINE}: at the first step of a run the cosine is 1",
    derivation="schedules",
    steps=("The cosine begins at the peak",),
)
BOUNDED = Property(
    key="bounded",
    statement="The rate never exceeds the peak.",
    formula="f(t) ≤ peak",
    source=COSINE,
    derivation="schedules",
    steps=("No cosine lies above its beginning", "The warm-up stays below the peak"),
)
LEAST = Property(
    key="least",
    statement="The rate is the least one at the end, and stays there.",
    formula="t ≥ T: f(t) = least",
    source=f"{COSINE}: the least rate is reached when the run ends",
    derivation="schedules",
    steps=("The cosine ends at the least rate",),
)
FALLING = Property(
    key="falling",
    statement="After the warm-up the rate never rises.",
    formula="W ≤ t: f(t + 1) ≤ f(t)",
    source=f"{COSINE}; a run without restarts",
    reason="the cosine falls from 0 to π, and the rate stays after it",
)
SYMMETRY = Property(
    key="symmetry",
    statement="About the middle of the cosine the rate is as far above the mean as below it.",
    formula="f(W + k) + f(T − k) = peak + least, 0 ≤ k ≤ T − W",
    source="cos(π − x) = −cos x",
    derivation="schedules",
    steps=("Two rates at the same distance from the middle sum to the peak and the least",),
)
LINEARITY = Property(
    key="linearity",
    statement="The rate is linear in the peak and the least rate.",
    formula="f(t; p + p′, l + l′) = f(t; p, l) + f(t; p′, l′)",
    source=COSINE,
    derivation="schedules",
    steps=("The cosine is linear in its two rates",),
)
AFTER_WARMUP = Property(
    key="decay.after_warmup",
    statement="The cosine starts with the step at which the warm-up ends: it is that of a run without the warm-up.",
    formula="t ≥ W: f(t; W, T) = f(t − W; 0, T − W)",
    source=f"{COSINE}: steps are counted from the start of the run",
    reason="the definition; the formula depends on t − W and T − W alone",
)
ROOT_VALUE = Property(
    key="value",
    statement="The rate is proportional to the step, then to the inverse root of the step.",
    formula="E^(−1/2) · min(t^(−1/2), t · W^(−3/2))",
    source=ROOT,
    reason="the definition",
)
ROOT_STRAIGHT = Property(
    key="warmup.straight",
    statement="Up to the end of the warm-up the rate is proportional to the step.",
    formula="t ≤ W: f(t) · W = t · f(W)",
    source=f"{ROOT}: the rate increases linearly for the first warmup_steps",
    derivation="schedules",
    steps=("The rise and the root meet at the end of the warm-up", "The root lies above the rise before they meet"),
)
ROOT_PEAK = Property(
    key="peak",
    statement="The rate is largest at the end of the warm-up, where it is one over the root of width times steps.",
    formula="f(W) = (E W)^(−1/2), f(t) ≤ f(W)",
    source=ROOT,
    derivation="schedules",
    steps=("The rise and the root meet at the end of the warm-up",),
)
ROOT_DECAY = Property(
    key="decay.root",
    statement="After the warm-up four times the step has half the rate.",
    formula="t ≥ W: f(4t) = f(t)/2",
    source=f"{ROOT}: the rate decreases with the inverse square root of the step",
    derivation="schedules",
    steps=("Four times the step has half the root",),
)
ROOT_OF_WIDTH = Property(
    key="width",
    statement="A model of four times the width has half the rate.",
    formula="f(t; 4E) = f(t; E)/2",
    source=ROOT,
    derivation="schedules",
    steps=("Four times the step has half the root",),
)
ROOT_WITHOUT_WARMUP = Property(
    key="decay.without_warmup",
    statement="After the warm-up its length has no influence.",
    formula="t ≥ W: f(t; W) = f(t; 1)",
    source=ROOT,
    derivation="schedules",
    steps=("The rise lies above the root after they meet",),
)

LAWS = (
    *state(
        (
            WORKED_EXAMPLES,
            COSINE_VALUE,
            STRAIGHT,
            PEAK,
            BOUNDED,
            LEAST,
            FALLING,
            SYMMETRY,
            LINEARITY,
            AFTER_WARMUP,
        ),
        WARMUP_COSINE,
    ),
    *state(
        (
            WORKED_EXAMPLES,
            ROOT_VALUE,
            ROOT_STRAIGHT,
            ROOT_PEAK,
            ROOT_DECAY,
            ROOT_OF_WIDTH,
            ROOT_WITHOUT_WARMUP,
        ),
        WARMUP_INVERSE_ROOT,
    ),
)
