"""Laws of the gradients of feed-forward networks, plain and gated."""

from __future__ import annotations

from veriformer.spec.laws.gradients import EVERY_BACKWARD_PASS
from veriformer.spec.laws.law import Property, state
from veriformer.spec.operations.feed_forward_backward import FEED_FORWARD_BACKWARD, GATED_FEED_FORWARD_BACKWARD

VASWANI = "Vaswani et al. 2017, section 3.3, equation 2, differentiated"
SHAZEER = "Shazeer 2020, section 2, differentiated"
ADD_UP = "every vector uses the same weights, and the gradients of all uses add up"
MATRICES = "matrices_backward"
OUTER = "The gradient of a matrix is a sum over rows"
BACK = "The gradient passes a matrix by its transpose"
SLOPE = "The gradient passes an activation by its slope"
OFFSET = "An offset that every row uses gets the sum of G over the rows"

GRAD_X = Property(
    key="grad_x",
    statement="The gradient of a vector passes back through the second matrix, the slope of the activation and the "
    "first matrix.",
    formula="dx = (dO W_2ᵀ ⊙ activation′(x W_1 + b_1)) W_1ᵀ",
    source=VASWANI,
    derivation=MATRICES,
    steps=(BACK, SLOPE),
    conventions=("gelu_form",),
)
GRAD_W_1 = Property(
    key="grad_w_1",
    statement="The gradient of the first matrix is the sum over all vectors of vector times gradient before the "
    "activation.",
    formula="dW_1 = Σ xᵀ (dO W_2ᵀ ⊙ activation′(x W_1 + b_1)), over all vectors",
    source=VASWANI,
    derivation=MATRICES,
    steps=(OUTER, SLOPE),
    conventions=("gelu_form",),
)
GRAD_W_2 = Property(
    key="grad_w_2",
    statement="The gradient of the second matrix is the sum over all vectors of activated units times output gradient.",
    formula="dW_2 = Σ activation(x W_1 + b_1)ᵀ dO, over all vectors",
    source=VASWANI,
    derivation=MATRICES,
    steps=(OUTER,),
    conventions=("gelu_form",),
)
GRAD_B_1 = Property(
    key="grad_b_1",
    statement="The gradient of the first bias is the sum over all vectors of the gradient before the activation.",
    formula="db_1 = Σ dO W_2ᵀ ⊙ activation′(x W_1 + b_1), over all vectors",
    source=VASWANI,
    derivation="backward",
    steps=(OFFSET,),
    conventions=("gelu_form",),
)
GRAD_B_2 = Property(
    key="grad_b_2",
    statement="The gradient of the second bias is the sum of the output gradients over all vectors.",
    formula="db_2 = Σ dO, over all vectors",
    source=ADD_UP,
    derivation="backward",
    steps=(OFFSET,),
)
WHOLE = Property(
    key="grad_b_2.whole_numbers",
    statement="The second bias's gradient of whole numbers is their sum, to the last bit.",
    formula="dO of small whole numbers: db_2 = Σ dO exactly",
    source="sums of small whole numbers are exact in every dtype, in any order",
    derivation="backward",
    steps=(OFFSET,),
)
NO_BIAS = Property(
    key="biases",
    statement="A bias that is None gives the other gradients of a bias of zeros.",
    formula="g(b_1 = b_2 = None) = g(b_1 = b_2 = 0), g the gradients of vectors and matrices",
    source="docs/interface.md",
    reason="part of the interface: what None stands for",
)
LAST_BIAS_UNUSED = Property(
    key="b_2_unused",
    statement="The second bias has no effect on any gradient.",
    formula="g(b_2) = g(0), g the gradients",
    source="the second bias is added last",
    derivation="backward",
    steps=(OFFSET,),
)
OFF = Property(
    key="relu.off",
    statement="Units that ReLU sets to zero for every vector get no gradient and pass none on.",
    formula="activation = ReLU, x W_1 + b_1 < 0: dx = 0, dW_1 = 0, db_1 = 0, dW_2 = 0, db_2 = Σ dO",
    source="max(0, z) is constant for z < 0",
    derivation=MATRICES,
    steps=("Where all slopes are zero nothing passes",),
)
HOMOGENEITY = Property(
    key="relu_homogeneity",
    statement="With ReLU and without biases, scaling the vectors leaves their gradients and scales those of the "
    "matrices.",
    formula="α > 0: dx(α x) = dx(x), dW(α x) = α dW(x)",
    source="max(0, α z) = α max(0, z)",
    derivation=MATRICES,
    steps=("Scaled rows scale the gradient of a matrix",),
)
SECOND_ALONG_ITSELF = Property(
    key="w_2.along_itself",
    statement="The second matrix and its gradient have the product that the outputs without bias and their gradients "
    "have.",
    formula="Σ W_2 ⊙ dW_2 = Σ dO ⊙ (y − b_2), over all entries",
    source="the output without bias is linear in the second matrix",
    derivation=MATRICES,
    steps=("A matrix times its gradient is the output times its gradient",),
    conventions=("gelu_form",),
)
HIDDEN_ORDER = Property(
    key="hidden.permutation",
    statement="Hidden units in another order have the gradients of their weights in that order, and the same of x.",
    formula="g(W P) = g(W) P, dx(W P) = dx(W), P a permutation of the hidden units, g the gradients of the weights",
    source="a sum does not depend on the order of its terms",
    derivation=MATRICES,
    steps=("The order of the hidden units does not matter",),
)
HIDDEN_SUM = Property(
    key="hidden.sum",
    statement="The gradients of x through two parts of the hidden units add up to that through all.",
    formula="dx(A) + dx(B) = dx(A and B), A and B all hidden units",
    source="a matrix product is a sum over the inner index",
    derivation=MATRICES,
    steps=("The gradients through two parts of the hidden units add up",),
)
ALONE = Property(
    key="batch.independence",
    statement="The gradient of a vector does not depend on the other vectors.",
    formula="dx(x, dO)[r] = dx(x[r], dO[r])",
    source="the network is applied to each position separately and identically",
    derivation="feed_forward",
    steps=("No dependence on another position",),
)
ADDITIVE = Property(
    key="rows.additive",
    statement="The gradients of the weights over some vectors and over the others add up to those over all.",
    formula="g(x, dO) = g(x[A], dO[A]) + g(x[B], dO[B]), A and B all vectors, g the gradients of the weights",
    source=ADD_UP,
    derivation=MATRICES,
    steps=(OUTER,),
)
ROW_ORDER = Property(
    key="rows.permutation",
    statement="Vectors in another order give the gradients of the vectors in that order, and the same of the weights.",
    formula="dx(x[π], dO[π]) = dx(x, dO)[π], g(x[π], dO[π]) = g(x, dO), g the gradients of the weights",
    source="a sum does not depend on the order of its terms",
    derivation=MATRICES,
    steps=(OUTER,),
)

GATED_GRAD_X = Property(
    key="grad_x",
    statement="The gradient of a vector is the sum of those through both branches.",
    formula="dx = (dO W_downᵀ ⊙ u ⊙ activation′(g)) W_gateᵀ + (dO W_downᵀ ⊙ activation(g)) W_upᵀ, g = x W_gate, "
    "u = x W_up",
    source=SHAZEER,
    derivation=MATRICES,
    steps=(BACK, SLOPE, "The gradient of a product is that of each factor times the other"),
    conventions=("gelu_form",),
)
GRAD_GATE = Property(
    key="grad_w_gate",
    statement="The gradient of the gate's matrix has the other branch and the slope of the activation as factors.",
    formula="dW_gate = Σ xᵀ (dO W_downᵀ ⊙ x W_up ⊙ activation′(x W_gate)), over all vectors",
    source=SHAZEER,
    derivation=MATRICES,
    steps=(OUTER, SLOPE, "The gradient of a product is that of each factor times the other"),
    conventions=("gelu_form",),
)
GRAD_UP = Property(
    key="grad_w_up",
    statement="The gradient of the other branch's matrix has the activated gate as a factor.",
    formula="dW_up = Σ xᵀ (dO W_downᵀ ⊙ activation(x W_gate)), over all vectors",
    source=SHAZEER,
    derivation=MATRICES,
    steps=(OUTER, "The gradient of a product is that of each factor times the other"),
    conventions=("gelu_form",),
)
GRAD_DOWN = Property(
    key="grad_w_down",
    statement="The gradient of the last matrix is the sum over all vectors of gated units times output gradient.",
    formula="dW_down = Σ (activation(x W_gate) ⊙ x W_up)ᵀ dO, over all vectors",
    source=SHAZEER,
    derivation=MATRICES,
    steps=(OUTER,),
    conventions=("gelu_form",),
)
UP_SIGN = Property(
    key="up_branch.sign",
    statement="Negating the matrix that is not activated negates all gradients but its own.",
    formula="dx(−W_up) = −dx, dW_gate(−W_up) = −dW_gate, dW_down(−W_up) = −dW_down, dW_up(−W_up) = dW_up",
    source=f"{SHAZEER}: the gate alone passes through the activation",
    derivation=MATRICES,
    steps=("A factor with the other sign gives the other factor's gradient the other sign",),
)
ZERO_GATE = Property(
    key="zero_gate",
    statement="A gate whose matrix is zero leaves the other matrices without gradients.",
    formula="W_gate = 0: dW_up = 0, dW_down = 0, dx = 0",
    source="activation(0) = 0",
    derivation=MATRICES,
    steps=("The gradient of a product is that of each factor times the other",),
)
ALONG_BOTH = Property(
    key="w_up.along_itself",
    statement="The last matrix and the one that is not activated have the same product with their gradients.",
    formula="Σ W_up ⊙ dW_up = Σ W_down ⊙ dW_down = Σ dO ⊙ y, over all entries",
    source="the output is linear in each of the two matrices",
    derivation=MATRICES,
    steps=("A matrix times its gradient is the output times its gradient",),
    conventions=("gelu_form",),
)
_OF_BOTH = (HIDDEN_ORDER, HIDDEN_SUM, ALONE, ADDITIVE, ROW_ORDER, *EVERY_BACKWARD_PASS)
FEED_FORWARD_LAWS = (
    GRAD_X,
    GRAD_W_1,
    GRAD_B_1,
    GRAD_W_2,
    GRAD_B_2,
    WHOLE,
    NO_BIAS,
    LAST_BIAS_UNUSED,
    OFF,
    HOMOGENEITY,
    SECOND_ALONG_ITSELF,
    *_OF_BOTH,
)
GATED_LAWS = (
    GATED_GRAD_X,
    GRAD_GATE,
    GRAD_UP,
    GRAD_DOWN,
    UP_SIGN,
    ZERO_GATE,
    ALONG_BOTH,
    *_OF_BOTH,
)

LAWS = (
    *state(FEED_FORWARD_LAWS, FEED_FORWARD_BACKWARD),
    *state(GATED_LAWS, GATED_FEED_FORWARD_BACKWARD),
)
