"""One ordinary input for every fault of the kit, and a telling one where that shows no difference.

An ordinary input is what a plain test would draw: numbers of a standard normal distribution, tokens below the size of
the vocabulary, two samples, a length of twelve, four heads of width eight, a causal mask where a function of attention
takes one, no other optional argument. Models and ports run as `build()` returns them, both forms with the same weights.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import torch

if TYPE_CHECKING:
    from historical import Fault

Example = Callable[[ModuleType, np.random.Generator], Any]
ORDINARY: dict[str, Example] = {}
TELLING: dict[str, Example] = {}
SAMPLES, LENGTH, VOCABULARY = 2, 12, 50
HEADS = (SAMPLES, 4, LENGTH, 8)


def ordinary(name: str) -> Callable[[Example], Example]:
    """Register what is called on an ordinary input."""
    return lambda function: ORDINARY.setdefault(name, function)


def telling(name: str) -> Callable[[Example], Example]:
    """Register what is called on an input that shows the difference, where an ordinary one does not."""
    return lambda function: TELLING.setdefault(name, function)


def tensors(rng: np.random.Generator, *shapes: tuple[int, ...]) -> list[torch.Tensor]:
    """Return tensors of normal numbers, one for each shape."""
    return [torch.from_numpy(one) for one in arrays(rng, *shapes)]


def arrays(rng: np.random.Generator, *shapes: tuple[int, ...]) -> list[npt.NDArray[np.float32]]:
    """Return arrays of normal numbers, one for each shape."""
    return [rng.standard_normal(shape).astype(np.float32) for shape in shapes]


def tokens(rng: np.random.Generator, length: int = LENGTH) -> torch.Tensor:
    """Return drawn tokens."""
    return torch.from_numpy(rng.integers(0, VOCABULARY, (SAMPLES, length)))


def causal() -> torch.Tensor:
    """Return a causal mask, True where a query may attend."""
    return torch.ones(LENGTH, LENGTH, dtype=torch.bool).tril()


def outputs(fault: Fault, form: str, examples: dict[str, Example]) -> list[npt.NDArray[Any]]:
    """Return all arrays that a form returns for its example; models and ports without one are run on tokens."""
    program = imported(fault.program(form))
    example = examples.get(fault.id, ORDINARY.get(fault.id, run_on_tokens))
    with torch.no_grad():
        return [np.asarray(one) for one in _leaves(example(program, np.random.default_rng(0)))]


def seen_by_allclose(fault: Fault) -> bool:
    """Return whether `allclose` at the project's tolerance tells the forms apart on an ordinary input."""
    return not alike(outputs(fault, "faulty", ORDINARY), outputs(fault, "mended", ORDINARY), fault.rtol, fault.atol)


def differ_at_all(fault: Fault) -> bool:
    """Return whether the forms differ beyond rounding on the telling input, or on the ordinary one without such."""
    examples = {**ORDINARY, **TELLING}
    return not alike(outputs(fault, "faulty", examples), outputs(fault, "mended", examples), 1e-6, 1e-6)


def alike(some: list[npt.NDArray[Any]], others: list[npt.NDArray[Any]], rtol: float, atol: float) -> bool:
    """Return whether two lists of arrays are close, entry by entry."""
    if [one.shape for one in some] != [one.shape for one in others]:
        return False
    return all(np.allclose(one, other, rtol=rtol, atol=atol) for one, other in zip(some, others, strict=True))


def imported(path: Path) -> ModuleType:
    """Return a program as a module; what it imports from its folder is found."""
    if str(path.parent) not in sys.path:
        sys.path.append(str(path.parent))
    specification = importlib.util.spec_from_file_location(f"historical_{path.stem}", path)
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    sys.modules[specification.name] = module
    specification.loader.exec_module(module)
    return module


def run_on_tokens(program: ModuleType, rng: np.random.Generator) -> Any:
    """Return what the model of a program returns for drawn tokens."""
    return run(program.build(), tokens(rng))


def run(built: Any, ids: torch.Tensor) -> Any:
    """Return the result of a model: of torch, or a function or module of JAX with its parameters."""
    if isinstance(built, torch.nn.Module):
        result = built(ids)
        return getattr(result, "logits", result)
    array = np.asarray(ids).astype(np.int32)
    if not isinstance(built, tuple):
        return built(array)
    function, parameters = built
    return function.apply(parameters, array) if hasattr(function, "apply") else function(parameters, array)


def _leaves(result: Any) -> Iterator[Any]:
    if isinstance(result, dict):
        result = list(result.values())
    if isinstance(result, list | tuple):
        for one in result:
            yield from _leaves(one)
    elif isinstance(result, torch.Tensor):
        yield result.detach().float().numpy()
    elif result is not None:
        yield result


@ordinary("01_fallback_scale")
def _(program: ModuleType, rng: np.random.Generator) -> Any:
    return program.attention(*tensors(rng, *[(2, 4, 12, 8)] * 3))


@ordinary("02_adamw_decay_in_step")
def _(program: ModuleType, rng: np.random.Generator) -> Any:
    parameter, gradient, first, second = arrays(rng, *[(6, 8)] * 4)
    settings = {"learning_rate": 1e-3, "beta1": 0.9, "beta2": 0.999, "eps": 1e-8, "weight_decay": 0.01}
    return program.adamw_step(parameter, gradient, first, second**2, step=3, **settings)


@ordinary("07_boolean_mask_added")
def _(program: ModuleType, rng: np.random.Generator) -> Any:
    return program.eager_attention_forward(*tensors(rng, *[HEADS] * 3), causal())


@ordinary("08_rows_without_keys")
def _(program: ModuleType, rng: np.random.Generator) -> Any:
    return program.attention_fallback(*arrays(rng, *[HEADS] * 3), causal().numpy())


@telling("08_rows_without_keys")
def _(program: ModuleType, rng: np.random.Generator) -> Any:
    mask = causal().numpy().copy()
    mask[3] = False
    with np.errstate(invalid="ignore"):
        return program.attention_fallback(*arrays(rng, *[HEADS] * 3), mask)


@ordinary("09_no_maximum")
def _(program: ModuleType, rng: np.random.Generator) -> Any:
    return program.attention_weights(*arrays(rng, *[HEADS] * 2), causal().numpy())


@telling("09_no_maximum")
def _(program: ModuleType, rng: np.random.Generator) -> Any:
    query, key = arrays(rng, *[HEADS] * 2)
    with np.errstate(over="ignore", invalid="ignore"):
        return program.attention_weights(30 * query, key)


@ordinary("10_softmax_over_queries")
def _(program: ModuleType, rng: np.random.Generator) -> Any:
    return program.scaled_dot_product_attention(*arrays(rng, *[HEADS] * 3))


@ordinary("11_sum_in_half")
def _(program: ModuleType, rng: np.random.Generator) -> Any:
    return program.softmax(rng.standard_normal((SAMPLES, LENGTH)).astype(np.float16))


@telling("11_sum_in_half")
def _(program: ModuleType, rng: np.random.Generator) -> Any:
    return program.softmax(np.zeros((1, 5000), np.float16))


@ordinary("12_bias_scaled")
def _(program: ModuleType, rng: np.random.Generator) -> Any:
    bias = torch.zeros(LENGTH, LENGTH).masked_fill(~causal(), float("-inf"))
    return program.attention(*tensors(rng, *[HEADS] * 3), bias)


@telling("12_bias_scaled")
def _(program: ModuleType, rng: np.random.Generator) -> Any:
    return program.attention(*tensors(rng, *[HEADS] * 3), *tensors(rng, (LENGTH, LENGTH)))


@ordinary("13_tail_block")
def _(program: ModuleType, rng: np.random.Generator) -> Any:
    return program.attention(*arrays(rng, *[HEADS] * 3))


@telling("13_tail_block")
def _(program: ModuleType, rng: np.random.Generator) -> Any:
    return program.attention(*arrays(rng, *[(2, 4, 10, 8)] * 3))


@ordinary("14_group_of_a_head")
def _(program: ModuleType, rng: np.random.Generator) -> Any:
    return program.grouped_query_attention(*tensors(rng, (2, 8, LENGTH, 8), *[(2, 4, LENGTH, 8)] * 2))


@ordinary("15_alibi_twelve_heads")
@ordinary("16_alibi_rewards_distance")
def _(program: ModuleType, rng: np.random.Generator) -> Any:
    return program.alibi_bias(8, LENGTH, LENGTH)


@telling("15_alibi_twelve_heads")
def _(program: ModuleType, rng: np.random.Generator) -> Any:
    return program.alibi_bias(12, LENGTH, LENGTH)


@ordinary("17_last_bucket")
def _(program: ModuleType, rng: np.random.Generator) -> Any:
    return program.relative_position_bucket(np.subtract.outer(np.arange(LENGTH), np.arange(LENGTH)))


@telling("17_last_bucket")
def _(program: ModuleType, rng: np.random.Generator) -> Any:
    return program.relative_position_bucket(np.arange(-500, 500))


@ordinary("18_rotation_turned_back")
def _(program: ModuleType, rng: np.random.Generator) -> Any:
    return program.rotary_embedding(*arrays(rng, HEADS), np.arange(LENGTH))


@ordinary("19_tables_in_bfloat16")
def _(program: ModuleType, rng: np.random.Generator) -> Any:
    return program.rotary_embedding(tensors(rng, HEADS)[0].bfloat16(), torch.arange(LENGTH))


@telling("19_tables_in_bfloat16")
def _(program: ModuleType, rng: np.random.Generator) -> Any:
    return program.rotary_embedding(tensors(rng, HEADS)[0].bfloat16(), torch.arange(LENGTH) + 4000)


@ordinary("20_eps_beside_root")
@ordinary("21_norm_in_place")
def _(program: ModuleType, rng: np.random.Generator) -> Any:
    return program.rms_norm(*tensors(rng, (SAMPLES, LENGTH, 32), (32,)), 1e-6)


@telling("20_eps_beside_root")
def _(program: ModuleType, rng: np.random.Generator) -> Any:
    x, weight = tensors(rng, (SAMPLES, LENGTH, 32), (32,))
    return program.rms_norm(1e-3 * x, weight, 1e-6)


@telling("21_norm_in_place")
def _(program: ModuleType, rng: np.random.Generator) -> Any:
    x, weight = tensors(rng, (SAMPLES, LENGTH, 32), (32,))
    return [program.rms_norm(x, weight, 1e-6), x]


@ordinary("22_mean_of_means")
@ordinary("24_chunks_of_a_loss")
def _(program: ModuleType, rng: np.random.Generator) -> Any:
    return program.cross_entropy(*tensors(rng, (SAMPLES, LENGTH, VOCABULARY)), tokens(rng))


@telling("22_mean_of_means")
def _(program: ModuleType, rng: np.random.Generator) -> Any:
    targets = tokens(rng)
    targets[0, 3:] = -100
    return program.cross_entropy(*tensors(rng, (SAMPLES, LENGTH, VOCABULARY)), targets)


@ordinary("23_first_label_counted")
def _(program: ModuleType, rng: np.random.Generator) -> Any:
    return program.next_token_loss(*tensors(rng, (SAMPLES, LENGTH, VOCABULARY)), tokens(rng))


@ordinary("25_crossing_token")
def _(program: ModuleType, rng: np.random.Generator) -> Any:
    return program.top_p_filter(tensors(rng, (SAMPLES, VOCABULARY))[0].softmax(-1))


@ordinary("26_draft_accepted_by_target")
def _(program: ModuleType, rng: np.random.Generator) -> Any:
    return program.speculative_distribution(*tensors(rng, (2, VOCABULARY))[0].softmax(-1).numpy())


@ordinary("27_penalty_of_negative_logits")
def _(program: ModuleType, rng: np.random.Generator) -> Any:
    return program.repetition_penalty(*arrays(rng, (SAMPLES, VOCABULARY)), tokens(rng).numpy())


@ordinary("28_merge_of_nothing")
def _(program: ModuleType, rng: np.random.Generator) -> Any:
    return program.merge_attention(*tensors(rng, HEADS, HEADS[:3], HEADS, HEADS[:3]))


@telling("28_merge_of_nothing")
def _(program: ModuleType, rng: np.random.Generator) -> Any:
    nothing = torch.full(HEADS[:3], -torch.inf)
    return program.merge_attention(torch.zeros(HEADS), nothing, torch.zeros(HEADS), nothing)[0]


@ordinary("29_backward_of_a_batch")
def _(program: ModuleType, rng: np.random.Generator) -> Any:
    return program.scaled_dot_product_attention(*tensors(rng, *[HEADS] * 3))


@telling("29_backward_of_a_batch")
def _(program: ModuleType, rng: np.random.Generator) -> Any:
    query, key, value, cotangent = tensors(rng, *[HEADS] * 4)
    with torch.enable_grad():
        result = program.scaled_dot_product_attention(query.requires_grad_(), key, value)
        return torch.autograd.grad(result, query, cotangent)


@ordinary("30_balance_over_chosen")
def _(program: ModuleType, rng: np.random.Generator) -> Any:
    return program.load_balance_loss(*tensors(rng, (SAMPLES * LENGTH, 8)))


@ordinary("31_padding_pooled")
def _(program: ModuleType, rng: np.random.Generator) -> Any:
    return program.mean_pooling(*tensors(rng, (SAMPLES, LENGTH, 32)), torch.ones(SAMPLES, LENGTH))


@telling("31_padding_pooled")
def _(program: ModuleType, rng: np.random.Generator) -> Any:
    return program.mean_pooling(*tensors(rng, (SAMPLES, LENGTH, 32)), (torch.arange(LENGTH) < 5).expand(SAMPLES, -1))


@ordinary("32_one_expert_normalised")
def _(program: ModuleType, rng: np.random.Generator) -> Any:
    return program.router(*tensors(rng, (SAMPLES * LENGTH, 8)))


@ordinary("33_raw_logits_as_weights")
def _(program: ModuleType, rng: np.random.Generator) -> Any:
    return program.fused_topk(*tensors(rng, (SAMPLES * LENGTH, 8)))


@telling("34_padding_instead_of_causal")
@telling("38_masks_of_other_samples")
def _(program: ModuleType, rng: np.random.Generator) -> Any:
    mask = torch.ones(SAMPLES, LENGTH, dtype=torch.long)
    mask[0, 9:] = 0
    return program.build()(tokens(rng), mask)


@telling("36_decoding_sees_first_key")
def _(program: ModuleType, rng: np.random.Generator) -> Any:
    (function, parameters), ids = program.build(), tokens(rng).numpy()
    _, cache = function(parameters, ids[:, :-1])
    return function(parameters, ids[:, -1:], cache)[0]


@telling("40_every_token_at_zero")
def _(program: ModuleType, rng: np.random.Generator) -> Any:
    model, ids = program.build(), tokens(rng)
    _, cache = model(ids[:, :-1])
    return model(ids[:, -1:], cache)[0]


@telling("41_positions_of_padding")
def _(program: ModuleType, rng: np.random.Generator) -> Any:
    model, ids = program.build(), tokens(rng)
    mask = torch.ones(SAMPLES, LENGTH, dtype=torch.long)
    mask[0, :4] = 0
    _, cache = model(ids[:, :-1], mask[:, :-1])
    return model(ids[:, -1:], mask, cache)[0]


@ordinary("45_shift_of_the_other_axis")
@ordinary("46_grid_of_sinusoids")
def _(program: ModuleType, rng: np.random.Generator) -> Any:
    return program.build()(*tensors(rng, tuple(program.inputs().shape)))


@ordinary("47_encoder_taken_for_decoder")
@ordinary("50_causal_across")
def _(program: ModuleType, rng: np.random.Generator) -> Any:
    return program.build()(tokens(rng), tokens(rng))


@telling("51_packed_documents")
def _(program: ModuleType, rng: np.random.Generator) -> Any:
    return program.build()(*program.inputs())


@telling("44_bias_of_the_prompt")
@telling("52_integers_of_the_cache")
def _(program: ModuleType, rng: np.random.Generator) -> Any:
    model, ids = program.build(), tokens(rng)
    _, cache = model(ids[:, :-1])
    return model(ids[:, -1:], cache)[0]
