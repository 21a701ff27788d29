"""The shapes in the reference's signatures are not decoration: under test a wrong one raises."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
import subprocess
import sys

import numpy as np
import pytest
import veriformer.reference as reference
from jaxtyping import TypeCheckError
from jaxtyping._import_hook import Typechecker
from veriformer.conformance_tests import check
from veriformer.reference import layers, positions

Q, K, V = np.ones((2, 4, 3, 5)), np.ones((2, 4, 7, 5)), np.ones((2, 4, 7, 6))
LOGITS = np.ones((2, 4, 3, 7))
SEEN = LOGITS > 0
WEIGHTS = reference.MultiHeadWeights(np.ones((6, 8)), np.ones((6, 4)), np.ones((6, 6)), np.ones((12, 6)))
X = np.ones((2, 3, 6))

FEED_FORWARD = reference.FeedForwardWeights(np.ones((6, 8)), np.ones((8, 6)))
GATED = reference.GatedFeedForwardWeights(np.ones((6, 8)), np.ones((6, 8)), np.ones((8, 6)))

CONFIGURATION = reference.configure(
    "gpt", num_layers=1, d_model=6, num_heads=2, d_ff=8, vocabulary_size=5, max_length=4
)
TREE = reference.weight_tree(CONFIGURATION, lambda _, shape: np.ones(shape))
TOKENS = np.ones((2, 3), dtype=int)
NORM = reference.NormWeights(np.ones(6), np.ones(6))
DECODER_LAYER = reference.DecoderLayerWeights(WEIGHTS, NORM, WEIGHTS, NORM, FEED_FORWARD, NORM)
LAYER = {"num_heads": 2, "norm_first": True, "activation": "relu", "eps": 0.1}

WRONG = {
    "FeedForwardWeights": (np.ones((6, 8)), np.ones((7, 6))),
    "GatedFeedForwardWeights": (np.ones((6, 8)), np.ones((6, 7)), np.ones((8, 6))),
    "DecoderLayerWeights": (WEIGHTS, NORM, WEIGHTS, NORM, GATED, NORM),
    "DecodingCache": ([],),
    "EncoderLayerWeights": (WEIGHTS, NORM, GATED, NORM),
    "NormWeights": (np.ones(6), np.ones(5)),
    "decoder_layer": (X, X[:1], DECODER_LAYER),
    "encoder_layer": (X.astype(int), TREE.layers[0]),
    "encoder_layer_backward": (X, TREE.layers[0], X[:1]),
    "encoder_backward": (X, TREE, CONFIGURATION, X),
    "encoder_decoder_backward": (TOKENS, X, TREE, CONFIGURATION, X),
    "language_model_backward": (X, TREE, CONFIGURATION, X),
    "decoder_layer_backward": (X, X, DECODER_LAYER, X[:1]),
    "EncoderDecoderWeights": (TOKENS, None, None, None, None, [], [], None, None, None),
    "GainWeights": (np.ones((2, 6)),),
    "GatedLayerWeights": (WEIGHTS, NORM, FEED_FORWARD, NORM),
    "KeysAndValues": (K, V[:, :2]),
    "ModelConventions": ("relu",),
    "TransformerConfiguration": ("gtp", *list(vars(CONFIGURATION).values())[1:]),
    "TransformerWeights": (TOKENS, None, None, [], None, None),
    "configure": ("gtp",),
    "decode_step": (X, None, TREE, CONFIGURATION),
    "encoder": (X, TREE, CONFIGURATION),
    "encoder_decoder": (TOKENS, X, TREE, CONFIGURATION),
    "language_model": (X, TREE, CONFIGURATION),
    "parameter_count": (TREE,),
    "weight_tree": ("gpt", np.ones),
    "activate": ("relu", np.ones(3, dtype=int)),
    "activate_backward": ("relu", X, X[..., :3]),
    "feed_forward": (X.astype(int), FEED_FORWARD),
    "feed_forward_backward": (X, FEED_FORWARD, X[..., :3]),
    "gated_feed_forward": (X.astype(int), GATED),
    "gated_feed_forward_backward": (X, GATED, X[..., :3]),
    "gelu": (np.ones(3, dtype=int),),
    "relu": (np.ones(3, dtype=int),),
    "rms_norm": (X, np.ones(5)),
    "rms_norm_backward": (X, np.ones(6), X[:1]),
    "layer_norm_backward": (X, np.ones(6), np.ones(6), X[..., :5]),
    "silu": (np.ones(3, dtype=int),),
    "MultiHeadWeights": (np.ones((6, 8)), np.ones((5, 4)), np.ones((6, 6)), np.ones((12, 6))),
    "SingleHeadWeights": (np.ones((6, 8)), np.ones((5, 8)), np.ones((6, 6))),
    "single_head_attention": (X.astype(int), reference.SingleHeadWeights(*[np.ones((6, 2))] * 3)),
    "adamw_step": (X, X[..., :3], X, X),
    "clip_by_global_norm": ([X.astype(int)],),
    "warmup_cosine_learning_rate": (1.5,),
    "warmup_inverse_root_learning_rate": (1.5,),
    "alibi_bias": (2.0, 3, 3),
    "alibi_slopes": (2.0,),
    "attention_over_part": (LOGITS, SEEN, V[:, :, :6]),
    "blocked_attention": (Q, K, V[:, :, :6]),
    "merge_attention": (Q, Q[..., 0], Q, Q[..., :2, 0]),
    "merge_attention_backward": (Q, Q[..., 0], Q, Q[..., 0], Q, Q[..., :2, 0]),
    "soft_cap": (np.ones(3, dtype=int), 2.0),
    "soft_cap_slope": (np.ones(3, dtype=int), 2.0),
    "softmax_beside_sinks": (LOGITS, SEEN, np.ones(3)),
    "window_mask": (2.0, 3, (1, 1)),
    "within_window": (np.ones(3), np.arange(3), (1, 1)),
    "attention_logits": (Q, K[..., :4]),
    "attention_weights": (Q, K[:1]),
    "causal_mask": (2.0, 3),
    "cross_entropy": (X, np.ones((2, 4), dtype=int)),
    "cross_entropy_backward": (X, np.ones((2, 3), dtype=int), np.ones((2, 4))),
    "gradient_of_logits": (LOGITS, SEEN, LOGITS[..., :6]),
    "gelu_backward": (X, X[..., :3]),
    "grouped_query_attention": (Q, K[:, :2], V),
    "grouped_query_attention_backward": (Q, K[:, :2], V[:, :2], V),
    "layer_norm": (X, np.ones(5), np.ones(6)),
    "log_sum_exp": (np.ones(3, dtype=int),),
    "masked_softmax": (LOGITS, SEEN[..., :6]),
    "merge_heads": (X,),
    "multi_head_attention": (X, np.ones((2, 7, 5)), WEIGHTS),
    "multi_head_attention_backward": (X, X, WEIGHTS, X[..., :3]),
    "single_head_attention_backward": (X, reference.SingleHeadWeights(*[np.ones((6, 2))] * 3), X[:1]),
    "next_token_loss": (X, np.ones((2, 4), dtype=int)),
    "next_token_loss_backward": (X, np.ones((2, 3), dtype=int), np.ones(2)),
    "dropout": (np.ones(3, dtype=int),),
    "dropout_backward": (X, X[..., :3]),
    "dropout_mask": ((3,),),
    "bias_inputs": (3, CONFIGURATION),
    "initial_variance": ("w_q", (4, 4), "gpt"),
    "initial_weights": ("gpt",),
    "kept_entries": (X, X[..., :3] > 0, 0.5),
    "padding_mask": (np.ones((2, 1), dtype=int), 3),
    "pair_places": (4, "quarter"),
    "relative_position_bucket": (np.ones((2, 3)),),
    "rotary_embedding": (Q, np.arange(4)),
    "rotary_embedding_backward": (Q, np.arange(3), Q[..., :2]),
    "rotary_frequencies": (6.0,),
    "scaled_dot_product_attention": (Q, K, V[:, :, :6]),
    "scaled_dot_product_attention_backward": (Q, K, V, V),
    "attention_weights_backward": (Q, K, LOGITS[..., :6]),
    "attention_bias_backward": (Q, K, V, V),
    "attention_sinks_backward": (Q, K, V, V),
    "silu_backward": (X, X[..., :3]),
    "sinusoidal_frequencies": (6.0,),
    "sinusoidal_positions": (3, 6.0),
    "softmax": (np.ones(3, dtype=int),),
    "softmax_backward": (LOGITS, LOGITS[..., :6]),
    "split_heads": (Q, 2),
    "token_embedding": (np.ones((2, 3), dtype=int), X),
    "token_embedding_backward": (np.ones((2, 3), dtype=int), X[0], X[:, :, :2]),
    "training_steps": (X, TREE, CONFIGURATION),
    "visible_keys": ((2, 4, 3),),
    "weighted_sum": (LOGITS, V, SEEN[:, :, :2]),
    "weights_of_sinks": (LOGITS, SEEN, np.ones(3)),
}
KEYWORDS = {
    "adamw_step": {"step": 1, "learning_rate": 0.1, "beta1": 0.9, "beta2": 0.99, "eps": 1e-8, "weight_decay": 0.0},
    "clip_by_global_norm": {"max_norm": 1.0},
    "warmup_cosine_learning_rate": {"peak": 1.0, "least": 0.0, "warmup_steps": 1, "total_steps": 2},
    "warmup_inverse_root_learning_rate": {"d_model": 4, "warmup_steps": 1},
    "training_steps": {"learning_rates": (0.1,), "beta1": 0.9, "beta2": 0.99, "eps": 1e-8, "weight_decay": 0.0},
    "attention_bias_backward": {"bias": LOGITS},
    "attention_sinks_backward": {"sinks": np.ones(4)},
    "dropout": {"rate": 0.5, "seed": 0},
    "dropout_backward": {"rate": 0.5, "seed": 0},
    "initial_weights": {"seed": 0},
    "dropout_mask": {"rate": 0.5, "seed": 0.5},
    "layer_norm": {"eps": 0.1},
    "layer_norm_backward": {"eps": 0.1},
    "rms_norm": {"eps": 0.1},
    "rms_norm_backward": {"eps": 0.1},
    "multi_head_attention": {"num_heads": 4, "num_kv_heads": 2},
    "multi_head_attention_backward": {"num_heads": 4, "num_kv_heads": 2},
}
KEYWORDS |= {f"{kind}_layer{backward}": LAYER for kind in ("encoder", "decoder") for backward in ("", "_backward")}
KEYWORDS["configure"] = {
    "num_layers": 1,
    "d_model": 6,
    "num_heads": 2,
    "d_ff": 8,
    "vocabulary_size": 5,
    "max_length": 4,
}
NETWORKS = [f"{name}{backward}" for name in ("feed_forward", "gated_feed_forward") for backward in ("", "_backward")]
KEYWORDS |= {name: {"activation": "relu"} for name in NETWORKS}


def modules():
    return [importlib.import_module(f"veriformer.reference.{m.name}") for m in pkgutil.iter_modules(reference.__path__)]


def functions():
    return [
        function
        for module in modules()
        for function in vars(module).values()
        if inspect.isfunction(function) and function.__module__ == module.__name__
    ]


def test_every_public_name_is_tried_with_a_wrong_argument():
    assert sorted(WRONG) == sorted(reference.__all__)


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_argument_raises(name):
    with pytest.raises(TypeCheckError, match="checking the parameters"):
        getattr(reference, name)(*WRONG[name], **KEYWORDS.get(name, {}))


@pytest.mark.parametrize("mask", [np.ones((4, 3, 7), bool), np.ones((3, 6), bool), np.ones((3, 7))])
def test_a_wrong_mask_raises(mask):
    with pytest.raises(TypeCheckError, match="mask"):
        reference.scaled_dot_product_attention(Q, K, V, mask=mask)


def test_a_wrong_result_raises(monkeypatch):
    monkeypatch.setattr(positions, "sinusoidal_frequencies", lambda d_model: np.ones(d_model))
    with pytest.raises(TypeCheckError, match="checking the return value"):
        positions.sinusoidal_positions(3, 4, layout="concatenated")


def test_a_wrong_result_inside_a_function_raises(monkeypatch):
    monkeypatch.setattr(layers, "feed_forward", lambda y, weights, **choices: y[..., :1])
    with pytest.raises(TypeCheckError, match=r"checking the return value of veriformer.reference.layers.*transform"):
        reference.encoder_layer(X, TREE.layers[0], **LAYER)


def test_nothing_is_decorated_in_a_call_where_nothing_is_checked(shapes_unchecked, monkeypatch):
    decorated = []
    for key in Typechecker.lookup:
        monkeypatch.setitem(Typechecker.lookup, key, lambda function: decorated.append(function) or function)
    reference.encoder_layer(X, TREE.layers[0], **LAYER)
    assert decorated == []


def test_every_function_is_checked():
    assert len(functions()) > len(reference.__all__)
    assert [f.__qualname__ for f in functions() if not hasattr(f, "__wrapped__")] == []


@pytest.mark.parametrize("function", functions(), ids=lambda f: f.__name__)
def test_every_annotation_can_be_evaluated(function):
    # One that cannot is passed over by the checker without a word.
    assert inspect.get_annotations(function, eval_str=True)


@pytest.mark.parametrize("function", functions(), ids=lambda f: f.__name__)
def test_every_array_in_a_signature_states_its_shape(function):
    for name, annotation in inspect.get_annotations(function).items():
        text = str(annotation)
        bare = re.sub(r"\b(Bool|Float|Float64|Int)\[Array, ['\"].+?['\"]\]", "", text)
        public = not function.__name__.startswith("_")
        assert "Array" not in bare or not public, f"{function.__name__}({name}: {text})"


def test_what_the_laws_hand_over_has_the_shapes_of_the_signatures():
    report = check("numpy", laws=["*.shape"], tier="quick")
    assert report.verdict == "conforms"


def test_every_public_function_is_documented():
    for name in reference.__all__:
        text = inspect.getdoc(getattr(reference, name)) or ""
        assert all(part in text for part in ("Shapes:", "Raises:", "Source:")), name


def test_the_reference_needs_numpy_alone():
    script = (
        "import sys; sys.modules.update(dict.fromkeys(['jaxtyping', 'beartype', 'sympy', 'torch', 'jax']))\n"
        "import numpy as np, veriformer.reference as r\n"
        "assert r.array_types.Float[r.array_types.Array, 'B L'] is np.ndarray\n"
        "print(r.softmax(np.zeros(4))[0])\n"
        "try: r.scaled_dot_product_attention(np.ones((1, 1, 2, 3)), np.ones((1, 1, 2, 4)), np.ones((1, 1, 2, 3)))\n"
        "except ValueError as error: print(error)\n"
    )
    done = subprocess.run([sys.executable, "-W", "error", "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("0.25\nkey must have shape (B, H, S, D) with D = 3")
