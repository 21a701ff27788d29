"""The changes that a port needs when it follows other conventions than its original.

For each value of each convention: the remedy that makes another implementation match it, and the behaviour of an
implementation that has the value. A sentence joins the remedy of the required value to the port's behaviour:
"pass an explicit mask where L ≠ S: B aligns the causal flag bottom-right".
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType


@dataclass(frozen=True)
class Porting:
    """How another implementation obtains a convention's value, and the behaviour of one that has it."""

    remedy: str
    behaviour: str


_EXPLICIT_MASK = "pass an explicit mask in place of the causal flag where L ≠ S"
_INVERT = "invert the mask"
_TRANSPOSE = "exchange the second and the third axis of query, key, value and output"

_CATALOGUE: dict[str, dict[str, Porting]] = {
    "mask_polarity": {
        "true_attends": Porting(_INVERT, "shows the keys at which the mask is True"),
        "true_is_masked": Porting(_INVERT, "hides the keys at which the mask is True"),
    },
    "causal_alignment": {
        "top_left": Porting(_EXPLICIT_MASK, "aligns the causal flag top-left"),
        "bottom_right": Porting(_EXPLICIT_MASK, "aligns the causal flag bottom-right"),
    },
    "causal_with_mask": {
        "intersect": Porting("write the causal flag into the mask", "lets the mask and the causal flag both apply"),
        "rejects": Porting(
            "refuse a mask with the causal flag where callers rely on that", "refuses a mask with the causal flag"
        ),
        "mask_ignored": Porting("omit the mask under the causal flag", "ignores a mask under the causal flag"),
        "causal_ignored": Porting("omit the causal flag with a mask", "ignores the causal flag with a mask"),
    },
    "empty_row": {
        "zeros": Porting("put zero in the rows that see no key", "returns zero there"),
        "nan": Porting("put NaN in the rows that see no key", "returns NaN there"),
        "mean_of_values": Porting(
            "put the mean over all values in the rows that see no key", "returns the mean over all values there"
        ),
    },
    "masked_nonfinite": {
        "ignored": Porting(
            "overwrite keys and values behind the mask with finite numbers", "ignores keys and values behind the mask"
        ),
        "value_propagates": Porting(
            "let only values that are not finite through the mask",
            "lets a NaN or infinity through from a masked value, not from a masked key",
        ),
        "propagates": Porting(
            "let keys and values that are not finite through the mask",
            "lets a NaN or infinity through from behind the mask",
        ),
    },
    "layout": {
        "bhld": Porting(_TRANSPOSE, "takes batch, head, length, width"),
        "blhd": Porting(_TRANSPOSE, "takes batch, length, head, width"),
    },
    "window_counting": {
        "inclusive": Porting(
            "pass a left window that is larger by one",
            "shows as many keys to the left as the window says, and the query's own",
        ),
        "exclusive": Porting(
            "pass a left window that is smaller by one",
            "counts the query's own key among the window's",
        ),
    },
    "softcap_order": {
        "before_mask": Porting("apply the soft cap before the mask", "applies the soft cap before the mask"),
    },
    "kv_grouping": {
        "repeat_each": Porting(
            "reorder the query heads so that neighbours read different key/value heads",
            "lets query head h read key/value head h // (H/G)",
        ),
        "tile": Porting(
            "reorder the query heads so that those of one key/value head are adjacent",
            "lets query head h read key/value head h mod G",
        ),
    },
    "rotary_pairing": {
        "interleaved": Porting(
            "put the even components before the odd ones, best once in the columns of W_q and W_k",
            "rotates neighbouring components together",
        ),
        "half": Porting(
            "put components i and i + D/2 side by side, best once in the columns of W_q and W_k",
            "rotates components i and i + D/2 together",
        ),
    },
    "sinusoidal_layout": {
        "interleaved": Porting("interleave the columns of sines and cosines", "has sines and cosines in turn"),
        "concatenated": Porting("put the columns of sines before those of cosines", "has all sines first"),
    },
    "gelu_form": {
        "erf": Porting("ask for the exact GELU, x Φ(x)", "computes x Φ(x)"),
        "tanh": Porting("ask for the tanh approximation of GELU", "computes the tanh approximation"),
        "sigmoid": Porting("compute GELU as x σ(1.702 x)", "computes x σ(1.702 x)"),
    },
    "layer_norm_eps": {
        "inside_root": Porting("add eps to the variance, under the root", "adds eps to the variance"),
        "outside_root": Porting(
            "add eps to the standard deviation, after the root", "adds eps to the standard deviation"
        ),
    },
    "rms_norm_gain": {
        "gamma": Porting("subtract 1 from the stored gain", "multiplies by the stored gain"),
        "one_plus_gamma": Porting("add 1 to the stored gain", "multiplies by 1 + the stored gain"),
    },
    "adamw_eps": {
        "after_correction": Porting(
            "add eps to the corrected root of the second moment", "adds eps after the bias correction"
        ),
        "before_correction": Porting(
            "add eps to the root of the second moment before its correction", "adds eps before the bias correction"
        ),
    },
    "adamw_decay": {
        "times_learning_rate": Porting(
            "multiply the weight decay by the learning rate", "multiplies the decay by the learning rate"
        ),
        "apart": Porting(
            "do not multiply the weight decay by the learning rate", "does not multiply the decay by the learning rate"
        ),
    },
    "decayed_weights": {
        "all": Porting("let all weights decay", "lets all weights decay"),
        "matrices": Porting(
            "let matrices and tables decay, and spare gains, shifts and biases", "spares gains, shifts and biases"
        ),
        "matrices_without_embeddings": Porting(
            "let matrices decay, and spare tables, gains, shifts and biases", "spares tables, gains, shifts and biases"
        ),
        "all_without_embeddings": Porting("let all weights but tables decay", "spares tables alone"),
    },
    "clip_norm_eps": {
        "none": Porting("divide max_norm by the norm itself", "adds nothing to the norm of the gradients"),
        "1e-6": Porting("add 1e-6 to the norm before max_norm is divided by it", "adds 1e-6 to the norm"),
    },
    "warmup_start": {
        "zero": Porting("begin the warm-up at 0", "begins its warm-up at 0"),
        "first_share": Porting("begin the warm-up at peak/(W + 1)", "begins its warm-up at peak/(W + 1)"),
    },
    "initial_deviation": {
        "fan_in": Porting("draw projections of the variance 1/n_in", "has the variance 1/n_in"),
        "fan_in_and_out": Porting(
            "draw projections of the variance 2/(n_in + n_out)", "has the variance 2/(n_in + n_out) of each matrix"
        ),
        "packed_fan_in_and_out": Porting(
            "count query, key and value as one matrix in the variance 2/(n_in + n_out)",
            "counts the outputs of query, key and value together",
        ),
        "third_of_fan_in": Porting("draw projections of the variance 1/(3 n_in)", "has the variance 1/(3 n_in)"),
        "fixed": Porting("draw projections of the deviation 0.02", "has the deviation 0.02 at every width"),
    },
    "initial_residual": {
        "unscaled": Porting("draw all projections alike", "scales no projection by the depth"),
        "by_depth": Porting(
            "divide the projections that add to the stream by √(2N)",
            "divides the projections that add to the stream by √(2N)",
        ),
        "by_layer": Porting(
            "divide the projections of layer l that add to the stream by √(2(l + 1))",
            "divides the projections of layer l that add to the stream by √(2(l + 1))",
        ),
    },
    "initial_bias": {
        "zero": Porting("start biases at 0", "starts its biases at 0"),
        "uniform": Porting("draw biases uniformly in ±1/√n_in", "draws its biases uniformly in ±1/√n_in"),
    },
    "softmax_dtype": {
        "input": Porting("compute the softmax in its input's precision", "computes it in its input's precision"),
        "float32": Porting("compute the softmax in float32", "computes it in float32, of float64 input too"),
        "at_least_float32": Porting("compute the softmax in float32 at least", "computes it in float32 at least"),
    },
    "numerics": {
        "eager": Porting("round every intermediate result to the dtype", "may round logits and softmax to the dtype"),
        "fused": Porting("keep logits and softmax in float32", "keeps logits and softmax in float32"),
    },
}

PORTING: Mapping[str, Mapping[str, Porting]] = MappingProxyType(_CATALOGUE)


def port_change(convention: str, wanted: str, present: str, port: str) -> str:
    """Return in one sentence what `port`, which has the value `present`, must change to match `wanted`.

    KeyError for a convention or value that does not exist.
    """
    values = PORTING[convention]
    return f"{values[wanted].remedy}: {port} {values[present].behaviour}"
