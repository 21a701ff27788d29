"""The conventions: points where correct, popular implementations disagree.

Laws are quantified over them. An undeclared value is inferred by probing, except for values that a wrong implementation
follows too (not in `inferred_values`): these must be declared.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType


@dataclass(frozen=True)
class ConventionValue:
    """One answer to a convention's question, the libraries that give it, and whether it may be inferred.

    `seldom_meant` of an accepted value that is often unintended says why.
    """

    name: str
    meaning: str
    followed_by: str
    inferred: bool = True
    seldom_meant: str = ""


@dataclass(frozen=True)
class Convention:
    """A point where implementations disagree, and the answers; the first is the standard one."""

    name: str
    question: str
    values: tuple[ConventionValue, ...]

    @property
    def standard(self) -> str:
        """The value that holds when nothing is declared and probing does not decide."""
        return self.values[0].name

    @property
    def value_names(self) -> tuple[str, ...]:
        """The names of all values."""
        return tuple(value.name for value in self.values)

    @property
    def inferred_values(self) -> tuple[str, ...]:
        """The values that probing may find; the others count as mistakes unless declared."""
        return tuple(value.name for value in self.values if value.inferred)


_CATALOGUE = (
    Convention(
        "mask_polarity",
        "What does True in a boolean mask mean?",
        (
            ConventionValue(
                "true_attends", "the query may attend", "torch's functional attention, jax, flax, keras, ONNX"
            ),
            ConventionValue(
                "true_is_masked",
                "the key is hidden",
                "torch.nn.MultiheadAttention and TransformerEncoderLayer, MindSpore",
                inferred=False,
            ),
        ),
    ),
    Convention(
        "causal_alignment",
        "Which keys does the causal flag show when L ≠ S?",
        (
            ConventionValue("top_left", "query i sees keys j ≤ i", "torch's functional attention, jax, flax, keras"),
            ConventionValue(
                "bottom_right",
                "query i sees keys j ≤ i + S − L",
                "FlashAttention since 2.1, MLX, x-transformers",
            ),
        ),
    ),
    Convention(
        "causal_with_mask",
        "What happens when a mask (or bias) and the causal flag are given together?",
        (
            ConventionValue("intersect", "both apply", "jax, flax, keras, ONNX"),
            ConventionValue("rejects", "the call is refused", "torch's documentation of functional attention"),
            ConventionValue("mask_ignored", "the mask is dropped", "OpenVINO, Paddle (documented)", inferred=False),
            ConventionValue("causal_ignored", "the flag is dropped", "torchtune", inferred=False),
        ),
    ),
    Convention(
        "empty_row",
        "What is the output of a query that may see no key?",
        (
            ConventionValue("zeros", "zero", "torch's functional attention, ONNX, FlashAttention"),
            ConventionValue("nan", "not a number", "tinygrad, torch.nn.MultiheadAttention with weights"),
            ConventionValue(
                "mean_of_values",
                "the mean over all S values, masked ones included",
                "jax, flax, keras, equinox",
            ),
        ),
    ),
    Convention(
        "masked_nonfinite",
        "Does a NaN or an infinity behind the mask reach the output?",
        (
            ConventionValue("ignored", "neither a masked key nor a masked value does", "the reference"),
            ConventionValue("value_propagates", "a masked value does, a masked key does not", "jax, flax, keras"),
            ConventionValue("propagates", "both do", "torch's functional attention"),
        ),
    ),
    Convention(
        "layout",
        "In which order are the axes of query, key, value and output?",
        (
            ConventionValue("bhld", "batch, head, length, width", "torch, ONNX"),
            ConventionValue("blhd", "batch, length, head, width", "jax, flax, FlashAttention"),
        ),
    ),
    Convention(
        "window_counting",
        "How many keys does a sliding window of w show to the left?",
        (
            ConventionValue("inclusive", "w keys and the query's own", "FlashAttention, jax, ONNX"),
            ConventionValue("exclusive", "w keys in all", "Mistral, Hugging Face"),
        ),
    ),
    Convention(
        "softcap_order",
        "Is the soft cap applied before the mask?",
        (ConventionValue("before_mask", "yes", "Gemma 2, ONNX since 1.22"),),
    ),
    Convention(
        "kv_grouping",
        "Which key/value head does query head h read?",
        (
            ConventionValue("repeat_each", "h // (H/G)", "torch, jax, keras, ONNX, Hugging Face"),
            ConventionValue("tile", "h mod G", "x-transformers", inferred=False),
        ),
    ),
    Convention(
        "rotary_pairing",
        "Which components form a rotated pair?",
        (
            ConventionValue("interleaved", "2i and 2i + 1", "GPT-J, torchtune"),
            ConventionValue("half", "i and i + D/2", "GPT-NeoX, Hugging Face Llama"),
        ),
    ),
    Convention(
        "sinusoidal_layout",
        "In which order do the sines and cosines stand?",
        (
            ConventionValue("interleaved", "sine at 2k, cosine at 2k + 1", "Vaswani et al. 2017, DistilBERT"),
            ConventionValue("concatenated", "all sines, then all cosines", "tensor2tensor, GPT-J, Marian"),
        ),
    ),
    Convention(
        "gelu_form",
        "Which form of GELU is computed?",
        (
            ConventionValue("erf", "x Φ(x)", "torch, ONNX"),
            ConventionValue("tanh", "the tanh approximation", "jax, flax"),
            ConventionValue("sigmoid", "x σ(1.702 x)", "CLIP's quick GELU", seldom_meant="up to 0.02 away from x Φ(x)"),
        ),
    ),
    Convention(
        "layer_norm_eps",
        "Is eps added inside or outside the root?",
        (
            ConventionValue("inside_root", "√(variance + eps)", "torch, jax, flax, keras, ONNX"),
            ConventionValue("outside_root", "√variance + eps", "no maintained library known", inferred=False),
        ),
    ),
    Convention(
        "rms_norm_gain",
        "Is the stored gain gamma, or gamma − 1?",
        (
            ConventionValue("gamma", "multiply by gamma", "torch, jax, Llama"),
            ConventionValue("one_plus_gamma", "multiply by 1 + gamma", "Gemma"),
        ),
    ),
    Convention(
        "adamw_eps",
        "Is AdamW's eps added to the root of the second moment after its bias correction, or before?",
        (
            ConventionValue("after_correction", "√(v/(1 − β₂ᵗ)) + ε", "torch, optax, Kingma & Ba 2015, algorithm 1"),
            ConventionValue(
                "before_correction",
                "(√v + ε)/√(1 − β₂ᵗ): the correction is part of the learning rate",
                "keras and TensorFlow, which call it epsilon hat; Kingma & Ba 2015, end of section 2",
                inferred=False,
            ),
        ),
    ),
    Convention(
        "adamw_decay",
        "Which share of a parameter does AdamW's weight decay λ take away?",
        (
            ConventionValue("times_learning_rate", "ηλ, η the learning rate", "torch, optax, keras, transformers"),
            ConventionValue(
                "apart",
                "λ, whatever the learning rate",
                "Loshchilov & Hutter 2019 with a schedule's multiplier of 1; pytorch_optimizer's fixed_decay",
                inferred=False,
            ),
        ),
    ),
    Convention(
        "decayed_weights",
        "Which weights of a model decay when it is trained by AdamW?",
        (
            ConventionValue("all", "all", "torch.optim.AdamW of one group of parameters, optax.adamw without a mask"),
            ConventionValue(
                "matrices",
                "matrices and tables of tokens and positions; gains, shifts and biases are spared",
                "nanoGPT, transformers' Trainer, Devlin et al. 2019 (BERT)",
            ),
            ConventionValue(
                "matrices_without_embeddings",
                "matrices alone, an unembedding of its own among them; tables are spared too, even where they are tied "
                "to the logits",
                "minGPT; OLMo with decay_norm_and_bias and decay_embeddings false",
            ),
            ConventionValue(
                "all_without_embeddings",
                "all but tables: matrices, gains, shifts and biases",
                "OLMo 2 and OLMo 3 (allenai/OLMo, allenai/OLMo-core)",
            ),
        ),
    ),
    Convention(
        "clip_norm_eps",
        "What is added to the norm of all gradients before max_norm is divided by it?",
        (
            ConventionValue(
                "none", "nothing", "Pascanu et al. 2013, optax.clip_by_global_norm, tf.clip_by_global_norm"
            ),
            ConventionValue(
                "1e-6",
                "1e-6, so that the factor is min(1, max_norm/(‖g‖ + 1e-6))",
                "torch.nn.utils.clip_grad_norm_, Megatron-LM",
            ),
        ),
    ),
    Convention(
        "warmup_start",
        "At which share of the peak does a warm-up of W steps start?",
        (
            ConventionValue(
                "zero",
                "peak · t/W at step t: 0 at step 0",
                "optax.warmup_cosine_decay_schedule, transformers' get_cosine_schedule_with_warmup, torchtune",
            ),
            ConventionValue("first_share", "peak · (t + 1)/(W + 1) at step t", "nanoGPT since December 2024"),
        ),
    ),
    Convention(
        "initial_deviation",
        "Which variance have the entries of a projection with n_in inputs and n_out outputs at first?",
        (
            ConventionValue("fan_in", "1/n_in", "flax (lecun_normal), LeCun et al. 1998"),
            ConventionValue(
                "fan_in_and_out",
                "2/(n_in + n_out)",
                "keras.layers.Dense (glorot_uniform), tensor2tensor, torch.nn.MultiheadAttention with kdim or vdim",
            ),
            ConventionValue(
                "packed_fan_in_and_out",
                "2/(n_in + n_out), query, key and value being one matrix, whose n_out is the sum of theirs",
                "torch.nn.MultiheadAttention, torch.nn.Transformer",
                inferred=False,
            ),
            ConventionValue("third_of_fan_in", "1/(3 n_in)", "torch.nn.Linear, equinox.nn.Linear"),
            ConventionValue("fixed", "0.02², whatever the width", "GPT-2, BERT, transformers' initializer_range"),
        ),
    ),
    Convention(
        "initial_residual",
        "Are the projections that add to the residual stream smaller at first, the deeper the model is?",
        (
            ConventionValue("unscaled", "no", "flax, keras, torch.nn.Transformer, BERT"),
            ConventionValue("by_depth", "yes, divided by √(2N) in N layers", "GPT-2, nanoGPT, Megatron-LM"),
            ConventionValue("by_layer", "yes, divided by √(2(l + 1)) in layer l, counted from 0", "OLMo (mitchell)"),
        ),
    ),
    Convention(
        "initial_bias",
        "Where do biases start?",
        (
            ConventionValue("zero", "at 0", "flax, keras, GPT-2, BERT"),
            ConventionValue("uniform", "uniform in ±1/√n_in", "torch.nn.Linear, equinox.nn.Linear"),
        ),
    ),
    Convention(
        "softmax_dtype",
        "In which precision is the softmax computed?",
        (
            ConventionValue("input", "that of its input", "torch with float32 and float64"),
            ConventionValue("float32", "float32, for float64 input too", "jax.nn.dot_product_attention"),
            ConventionValue("at_least_float32", "float32, or float64 for float64 input", "torch's fused kernels"),
        ),
    ),
    Convention(
        "numerics",
        "Which intermediate results may be rounded to float16 or bfloat16, if these are the dtype?",
        (
            ConventionValue(
                "eager",
                "all: logits, exponentials, their sum, weights; this permits rounding, and is no finding",
                "one array operation after the other",
            ),
            ConventionValue(
                "fused",
                "the weights, before the product with the values; in a backward pass all but the logits; "
                "projections, and all of layers and models",
                "FlashAttention, torch's functional attention, jax.nn.dot_product_attention",
            ),
        ),
    ),
)

CONVENTIONS: Mapping[str, Convention] = MappingProxyType({convention.name: convention for convention in _CATALOGUE})
