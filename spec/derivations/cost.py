"""The cost of the operations, counted in loops over scalars; decoding with and without a cache; parameters."""

from __future__ import annotations

from collections.abc import Callable

from sympy import Expr, Integer, Sum, Symbol
from veriformer.spec.cost import decoding, layer_loops, operations, parameters, scalar_loops, traffic
from veriformer.spec.cost.count import Count
from veriformer.spec.cost.machine import INPUTS, Machine, Table
from veriformer.spec.derivations.definitions import Definition
from veriformer.spec.derivations.derivation import Derivation, Difference, Meaning, Scope, Source, Step
from veriformer.spec.derivations.evaluator import World
from veriformer.spec.derivations.formulas import index, positive, size
from veriformer.spec.derivations.loop_counts import numbers_moved_in, operations_in, parameters_in
from veriformer.spec.derivations.provers import POLYNOMIAL_SUMS

L, S, P, T, E, H, G, D, Dv, F, N, layers = (
    size(name) for name in ("L", "S", "P", "T", "E", "H", "G", "D", "D_v", "F", "N", "n")
)
t = index("t")
phi = positive("phi")
LAYER = (E, H, D, F)
Loops = Callable[[Machine, Table], object]


def on_input(loops: Loops, *shape: Expr) -> Callable[[Machine], object]:
    """Loops that read one input of the given shape."""
    return lambda machine: loops(machine, machine.table(INPUTS, "x", *shape))


def weighted(count: Count) -> Expr:
    """Arithmetic operations, and functions at φ operations each."""
    return count.arithmetic + phi * count.functions


def counted(name: str, loops: Loops, formula: Count, why: str) -> Step:
    """The operations of loops on one input are those of the formula."""
    return Step(name, operations_in(on_input(loops, L, E), phi), weighted(formula), why)


def causal_loops(machine: Machine) -> object:
    """L new queries after P keys, row i seeing P + i + 1 of them."""
    return scalar_loops.separate_attention(machine, H, L, P + L, D, Dv, causal=True)


OPERATIONS = (
    counted(
        "A linear map",
        lambda machine, x: scalar_loops.linear(machine, x, "", L, E, F),
        operations.linear(L, E, F),
        "Each of the L F entries is a sum of E products: 2E operations, and one for the bias.",
    ),
    counted(
        "Softmax",
        lambda machine, x: scalar_loops.softmax(machine, x, L, S),
        operations.softmax(L, S),
        "Maximum, difference, sum, quotient and exponential of each entry.",
    ),
    Step(
        "Attention",
        operations_in(lambda machine: scalar_loops.separate_attention(machine, H, L, S, D, Dv), phi),
        weighted(operations.attention(H, L, S, D, Dv)),
        "Each of the L S pairs of a head: 2D for the logit, 1 for the scale, 4 + φ for softmax, 2Dv for the value.",
    ),
    Step(
        "Causal attention that skips what is hidden",
        operations_in(causal_loops, phi),
        weighted(operations.causal_attention(H, L, P, D, Dv)),
        "Row i of L new rows sees P + i + 1 keys: L P + L (L + 1)/2 pairs, about half of L² when P = 0.",
        POLYNOMIAL_SUMS,
    ),
    counted(
        "Multi-head attention",
        lambda machine, x: scalar_loops.multi_head_attention(machine, x, x, "", (L, S, E, H, G, D)),
        operations.multi_head_attention(L, S, E, H, G, D),
        "Queries and outputs have H D columns for L rows, keys and values G D columns for S rows.",
    ),
    counted(
        "Feed-forward network with ReLU",
        lambda machine, x: scalar_loops.feed_forward(machine, x, "", L, E, F, "relu"),
        operations.feed_forward(L, E, F, "relu"),
        "Two linear maps, and one maximum for each hidden unit.",
    ),
    counted(
        "Feed-forward network with GELU",
        lambda machine, x: scalar_loops.feed_forward(machine, x, "", L, E, F, "gelu"),
        operations.feed_forward(L, E, F, "gelu"),
        "x (1 + erf(x √½)) ½: four operations and one function for each hidden unit.",
    ),
    counted(
        "Gated network with SiLU",
        lambda machine, x: scalar_loops.gated_feed_forward(machine, x, L, E, F),
        operations.gated_feed_forward(L, E, F),
        "Three linear maps without biases; x/(1 + e^(−x)) and one product for each hidden unit.",
    ),
    counted(
        "Layer normalisation",
        lambda machine, x: scalar_loops.layer_norm(machine, x, "", L, E),
        operations.layer_norm(L, E),
        "Per component: 1 for the mean, 1 for the deviation, 2 for its square, 3 for quotient, gain and offset.",
    ),
    counted(
        "Root-mean-square normalisation",
        lambda machine, x: scalar_loops.rms_norm(machine, x, L, E),
        operations.rms_norm(L, E),
        "Per component: 2 for the square, 2 for quotient and gain.",
    ),
    counted(
        "Embedding",
        lambda machine, x: layer_loops.embedding(machine, x, L, E),
        operations.embedding(L, E),
        "Looking up costs nothing: 1 for √E and 1 for the position.",
    ),
    counted(
        "Logits",
        lambda machine, x: layer_loops.logits(machine, x, x, L, E, N),
        operations.linear(L, E, N, bias=False),
        "A linear map to the vocabulary.",
    ),
)

LAYERS = (
    counted(
        "Encoder layer",
        lambda machine, x: layer_loops.encoder_layer(machine, x, "", L, LAYER),
        operations.encoder_layer(L, E, H, D, F),
        "Self-attention (S = L, G = H), feed-forward network, two norms, two additions of the input.",
    ),
    counted(
        "Decoder layer",
        lambda machine, x: layer_loops.decoder_layer(machine, x, x, "", (L, S), LAYER),
        operations.decoder_layer(L, S, E, H, D, F),
        "An encoder layer with attention to S rows of memory. All pairs are counted, masked ones too.",
    ),
    Step(
        "Language model",
        operations_in(lambda machine: layer_loops.language_model(machine, L, layers, N, LAYER), phi),
        weighted(operations.language_model(L, layers, E, H, D, F, N)),
        "Embedding, n layers with GELU, a last norm, and the logits of all L tokens.",
    ),
    Step(
        "A linear map costs two operations for each row and weight",
        operations_in(on_input(lambda machine, x: scalar_loops.linear(machine, x, "", L, E, F, False), L, E), phi),
        2 * L * parameters.linear(E, F, bias=False),
        "Hence the rule of 2 operations for each parameter and token, as long as attention's pairs are few.",
    ),
    Step(
        "Where the products of attention weigh as much as all linear maps of a layer",
        operations.linear(L, E, L, False).arithmetic + operations.linear(L, L, E, False).arithmetic,
        4 * operations.linear(L, E, E, False).arithmetic + 2 * operations.linear(L, E, 4 * E, False).arithmetic,
        "At L = 6E, for F = 4E and H D = E: 4L²E = 24 L E². Below it the linear maps weigh more.",
        where=(Definition(L, lambda: 6 * E),),
    ),
)


def added_up(summand: Expr) -> Expr:
    """Σ over t = 1, …, T."""
    return Sum(summand, (t, 1, T))


def decode_loops(machine: Machine, x: Table) -> object:
    """One layer, for the token number T."""
    return layer_loops.decode_step(machine, x, T, LAYER)


DECODING = (
    Step(
        "A layer costs a per token and b per pair",
        operations_in(on_input(lambda machine, x: layer_loops.encoder_layer(machine, x, "", L, LAYER), L, E), phi),
        L * weighted(decoding.layer_per_token(E, H, D, F)) + L**2 * weighted(decoding.layer_per_pair(H, D)),
        "Write a for the cost of a token and b for that of a pair. Only the pairs of attention grow faster than L.",
    ),
    Step(
        "The step that adds token T to a cache costs a + b T",
        operations_in(on_input(decode_loops, Integer(1), E), phi),
        weighted(decoding.decode_step(T, E, H, D, F)),
        "One row is projected, and it meets T keys.",
    ),
    Step(
        "T tokens with a cache",
        layers * added_up(weighted(decoding.decode_step(t, E, H, D, F))),
        weighted(decoding.decode_with_cache(T, layers, E, H, D, F)),
        "Σ (a + b t) = a T + b T (T + 1)/2 for each of n layers.",
        POLYNOMIAL_SUMS,
    ),
    Step(
        "T tokens without a cache",
        layers * added_up(weighted(operations.encoder_layer(t, E, H, D, F))),
        weighted(decoding.decode_without_cache(T, layers, E, H, D, F)),
        "Σ (a t + b t²) = a T (T + 1)/2 + b T (T + 1)(2T + 1)/6 for each of n layers.",
        POLYNOMIAL_SUMS,
    ),
    Step(
        "What the cache saves of everything but pairs",
        added_up(t) / added_up(Integer(1)),
        (T + 1) / 2,
        "A factor that grows with T: this is most of the cost of short texts.",
        POLYNOMIAL_SUMS,
    ),
    Step(
        "What the cache saves of the pairs",
        added_up(t**2) / added_up(t),
        (2 * T + 1) / 3,
        "With a cache all pairs together are quadratic in T, without it cubic.",
        POLYNOMIAL_SUMS,
    ),
    Step(
        "Numbers in the cache",
        Sum(Integer(2), (Symbol("i", integer=True), 1, layers), (t, 1, T), (index("g"), 1, G), (index("c"), 1, D)),
        decoding.cache_numbers(T, layers, G, D),
        "A key and a value of width D for each layer, token and key/value head. Bytes: times 4 in float32.",
    ),
)


def parameters_of(name: str, loops: Loops, formula: Expr, why: str) -> Step:
    """The parameters that loops on one input ask for are those of the formula."""
    return Step(name, parameters_in(on_input(loops, L, E)), formula, why)


base = parameters.BASE_2017

PARAMETERS = (
    parameters_of(
        "Parameters of multi-head attention",
        lambda machine, x: scalar_loops.multi_head_attention(machine, x, x, "", (L, S, E, H, G, D)),
        parameters.multi_head_attention(E, H, G, D),
        "Four matrices with biases. With G = H and H D = E they are 4E² + 4E, for any number of heads.",
    ),
    parameters_of(
        "Parameters of an encoder layer",
        lambda machine, x: layer_loops.encoder_layer(machine, x, "", L, LAYER),
        parameters.encoder_layer(E, H, D, F),
        "Attention, two matrices with biases, gain and offset of two norms.",
    ),
    parameters_of(
        "Parameters of a decoder layer",
        lambda machine, x: layer_loops.decoder_layer(machine, x, x, "", (L, S), LAYER),
        parameters.decoder_layer(E, H, D, F),
        "Attention twice, three norms.",
    ),
    Step(
        "Parameters of an encoder-decoder model",
        parameters_in(lambda machine: layer_loops.encoder_decoder(machine, (L, S), layers, N, LAYER)),
        parameters.encoder_decoder(layers, E, H, D, F, N),
        "n layers of each kind, and one table for the source, the target and the logits.",
    ),
    Difference(
        "The base model of 2017 has 63.1 million parameters, not 65",
        parameters.encoder_decoder(base.layers, base.d_model, base.heads, 64, base.d_ff, N),
        Integer(65_000_000),
        "6 + 6 layers, E = 512, F = 2048: 44,138,496 and 512 for each word. 37,000 words make 63,082,496, "
        "3 % less than the 65 million of the paper's table 3, which need about 40,700 words.",
        example=World(symbols={N: base.vocabulary}),
        values=("63082496", "65000000"),
    ),
)

TRAFFIC = (
    Step(
        "Numbers that attention moves",
        numbers_moved_in(lambda machine: scalar_loops.separate_attention(machine, H, L, S, D, Dv)),
        traffic.attention(H, H, L, S, D, Dv).numbers,
        "Queries, keys, values and outputs, each once: linear in L and S, while the operations grow with L S.",
    ),
)

DERIVATION = Derivation(
    id="cost",
    title="What the operations of a Transformer cost",
    opening=(
        "How many operations, stored numbers and parameters does a Transformer need, as a function of its sizes? "
        "The formulas say what a cache saves, when attention outweighs the other layers, and which count a report "
        "should give, and each is proved from the loops that compute the operation."
    ),
    see_also=("decoding_cache",),
    symbols=(
        Meaning((L, S), "how many queries and how many keys there are"),
        Meaning((P,), "how many keys precede the queries"),
        Meaning((T, t), "how many tokens are generated, and the number of one of them"),
        Meaning((E,), "the width of a token"),
        Meaning((H, G), "how many query heads and how many key/value heads there are"),
        Meaning((D, Dv), "the widths of a key and of a value"),
        Meaning((F,), "how many hidden units a network has"),
        Meaning((N,), "how many words the vocabulary has"),
        Meaning((layers,), "how many layers there are"),
        Meaning((phi,), "what one function (e^x, √x, erf x) counts"),
        Meaning((index("a"), index("b")), "what a layer costs for each token and for each pair of tokens"),
    ),
    scope=Scope.SYMBOLIC,
    assumptions=(
        "A multiplication, addition, subtraction, division or maximum counts 1, so that a multiply-add counts 2.",
        "e^x, √x and erf x count φ: FLOPs are the case φ = 1.",
        "A sum of n terms starts from 0 and counts n additions. Reading, copying and masking are not counted.",
        "The left sides are the sums over the loops of `veriformer.spec.cost`: none of their ranges and operations "
        "depends on a computed number.",
    ),
    sources=(
        Source("Vaswani et al. 2017, Attention Is All You Need, table 1", comment="operations up to a factor"),
        Source(
            "Vaswani et al. 2017, Attention Is All You Need, table 3",
            comment="65 million parameters of the base model",
        ),
        Source(
            "Kaplan et al. 2020, Scaling Laws for Neural Language Models, table 1", comment="2 per parameter and token"
        ),
        Source(
            "Shazeer 2019, Fast Transformer Decoding: One Write-Head is All You Need, section 2.4.1",
            comment="the numbers that incremental decoding moves",
        ),
        Source("Seed document 000", "reduces per-step cost from O(t²) to roughly O(t)", "of the pairs, b t for b t²"),
        Source("Seed document 001", "Total parameters same as single-head", "with H D = E, and with W_O in both"),
    ),
    steps=OPERATIONS + LAYERS + DECODING + PARAMETERS + TRAFFIC,
    remarks=(
        "For a batch, operations, inputs and outputs are multiplied by its size; parameters are not.",
        "Other ways to compute the same count differently: one-pass norms, matrix products of fewer multiplications.",
        "The loops compute what the operations are: run on numbers they agree with the reference.",
    ),
    reason_without_law="The values that an implementation returns do not tell how many operations it took.",
)
