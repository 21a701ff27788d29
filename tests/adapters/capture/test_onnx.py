"""ONNX models, recorded: exported ones and graphs made by hand."""

from __future__ import annotations

import inspect
import warnings

import numpy as np
import pytest

onnx = pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")
from onnx import TensorProto, helper, numpy_helper  # noqa: E402
from veriformer.adapters.capture.onnx import capture  # noqa: E402
from veriformer.adapters.capture.trace import Kind  # noqa: E402
from veriformer.adapters.errors import LoadError  # noqa: E402

FLOAT, INT64, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL
RANDOM = np.random.default_rng(5)


def normal(*shape, dtype=np.float32):
    return RANDOM.normal(size=shape).astype(dtype)


def model_of(nodes, inputs, outputs, initialisers=None, opset=20, domains=()):
    """Return a model with untyped outputs; inputs are (name, type, shape)."""
    graph = helper.make_graph(
        nodes,
        "graph",
        [helper.make_tensor_value_info(*put) for put in inputs],
        [onnx.ValueInfoProto(name=name) for name in outputs],
        [numpy_helper.from_array(array, name) for name, array in (initialisers or {}).items()],
    )
    opsets = [helper.make_opsetid("", opset), *(helper.make_opsetid(domain, 1) for domain in domains)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=10)


def language_model(dtype=np.float32, table=None):
    table = normal(19, 8, dtype=dtype) if table is None else table
    nodes = [
        helper.make_node("Gather", ["table", "tokens"], ["x"], name="/embed/Gather"),
        helper.make_node("LayerNormalization", ["x", "gain", "shift"], ["y"], name="/h.0/norm/LayerNormalization"),
        helper.make_node("MatMul", ["y", "query"], ["q"], name="/h.0/attn/MatMul"),
        helper.make_node("MatMul", ["y", "key"], ["k"], name="/h.0/attn/MatMul_1"),
        helper.make_node("Transpose", ["k"], ["kt"], perm=[0, 2, 1]),
        helper.make_node("MatMul", ["q", "kt"], ["scores"]),
        helper.make_node("Mul", ["scores", "scale"], ["scaled"]),
        helper.make_node("Softmax", ["scaled"], ["weights"], axis=-1),
        helper.make_node("MatMul", ["weights", "y"], ["mixed"]),
        helper.make_node("Add", ["x", "mixed"], ["sum"]),
        helper.make_node("MatMul", ["sum", "unembed"], ["logits"]),
    ]
    weights = {
        "table": table,
        "gain": 1 + 0.1 * normal(8, dtype=dtype),
        "shift": normal(8, dtype=dtype),
        "query": normal(8, 8, dtype=dtype),
        "key": normal(8, 8, dtype=dtype),
        "scale": np.array(8**-0.5, dtype),
        "unembed": np.ascontiguousarray(table.T),
    }
    return model_of(nodes, [("tokens", INT64, ["batch", "length"])], ["logits"], weights)


TOKENS = np.random.default_rng(3).integers(0, 19, (2, 11))


def run(model, **fed):
    return onnxruntime.InferenceSession(model.SerializeToString()).run(None, fed)


def output(trace, place=0):
    return trace.values[trace.outputs[place]].array


def only(trace, operation):
    (found,) = [step for step in trace.steps if step.operation == operation]
    return found


def test_the_outputs_are_those_of_onnxruntime_to_the_last_bit(assert_in_order):
    model = language_model(np.float64)
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    whole = onnxruntime.InferenceSession(model.SerializeToString(), options).run(None, {"tokens": TOKENS})[0]
    trace = capture(model, (TOKENS,))
    assert_in_order(trace)
    assert (trace.framework, trace.dtype) == ("onnx", "float64")
    np.testing.assert_array_equal(output(trace), whole)


def test_a_model_in_single_precision_is_run_in_double():
    model = language_model()
    trace = capture(model, (TOKENS,))
    assert trace.dtype == "float64"
    w = {tensor.name: numpy_helper.to_array(tensor).astype(np.float64) for tensor in model.graph.initializer}
    x = w["table"][TOKENS]
    y = (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5) * w["gain"] + w["shift"]
    scores = np.exp((y @ w["query"]) @ (y @ w["key"]).swapaxes(-1, -2) / np.sqrt(8))
    expected = (x + scores / scores.sum(-1, keepdims=True) @ y) @ w["unembed"]
    # The number added to the variance is an attribute, which is in single precision.
    np.testing.assert_allclose(output(trace), expected, rtol=1e-11, atol=1e-11)
    np.testing.assert_allclose(output(trace), run(model, tokens=TOKENS)[0], rtol=1e-3, atol=1e-4)


def test_initialisers_are_parameters_and_numbers_are_constants():
    trace = capture(language_model(), (TOKENS,))
    assert set(trace.parameters) == {"table", "gain", "shift", "query", "key", "unembed"}
    assert [value.array for value in trace.values if value.origin == "constant"] == [np.array(8**-0.5)]
    assert trace.values[trace.inputs[0]].name == "tokens"


def test_kinds_modules_and_axes():
    trace = capture(language_model(), (TOKENS,))
    kinds = {step.operation: step.kind for step in trace.steps}
    assert kinds == {
        "Gather": Kind.LOOKUP,
        "LayerNormalization": Kind.OTHER,
        "MatMul": Kind.CONTRACTION,
        "Transpose": Kind.REARRANGEMENT,
        "Mul": Kind.OTHER,
        "Softmax": Kind.OTHER,
        "Add": Kind.ADDITION,
    }
    assert [step.module for step in trace.steps[:4]] == ["embed", "h.0.norm", "h.0.attn", "h.0.attn"]
    projection, scores = trace.steps[2], trace.steps[5]
    assert projection.attributes["contracted"] == ((2,), (0,)) and projection.attributes["parallel"] == ((), ())
    assert scores.attributes["contracted"] == ((2,), (1,)) and scores.attributes["parallel"] == ((0,), (0,))


@pytest.mark.parametrize(("turned", "contracted"), [((0, 0), ((1,), (0,))), ((1, 1), ((0,), (1,)))])
def test_gemm_tells_its_axes(turned, contracted):
    node = helper.make_node("Gemm", ["x", "w", "b"], ["y"], transA=turned[0], transB=turned[1])
    shape = (4, 3) if not turned[1] else (5, 4)
    bias = np.zeros(shape[0] if turned[1] else 3, np.float32)
    weights = {"w": normal(*shape), "b": bias}
    rows = (4, 6) if turned[0] else (6, 4)
    trace = capture(model_of([node], [("x", FLOAT, rows)], ["y"], weights), (normal(*rows),))
    assert only(trace, "Gemm").attributes["contracted"] == contracted


@pytest.mark.parametrize(
    ("nodes", "kind"),
    [
        ([helper.make_node("Gather", ["table", "ids"], ["y"])], Kind.LOOKUP),
        ([helper.make_node("Gather", ["table", "ids"], ["y"], axis=1)], Kind.REARRANGEMENT),
        (
            [helper.make_node("Identity", ["table"], ["same"]), helper.make_node("Gather", ["same", "ids"], ["y"])],
            Kind.LOOKUP,
        ),
        (
            [helper.make_node("Sin", ["table"], ["other"]), helper.make_node("Gather", ["other", "ids"], ["y"])],
            Kind.REARRANGEMENT,
        ),
    ],
)
def test_a_lookup_takes_rows_of_an_initialiser(nodes, kind):
    model = model_of(nodes, [("ids", INT64, [2, 3])], ["y"], {"table": normal(6, 6)})
    assert only(capture(model), "Gather").kind is kind


@pytest.mark.parametrize(
    ("node", "kind"),
    [
        (helper.make_node("Cast", ["x"], ["y"], to=TensorProto.FLOAT16), Kind.REARRANGEMENT),
        (helper.make_node("Cast", ["x"], ["y"], to=INT64), Kind.OTHER),
        (helper.make_node("Identity", ["x"], ["y"]), Kind.REARRANGEMENT),
        (helper.make_node("Dropout", ["x"], ["y", ""]), Kind.REARRANGEMENT),
        (helper.make_node("ScatterND", ["x", "where", "what"], ["y"]), Kind.REARRANGEMENT),
        (helper.make_node("ScatterND", ["x", "where", "what"], ["y"], reduction="add"), Kind.OTHER),
        (helper.make_node("Einsum", ["x", "x"], ["y"], equation="ab,cb->ac"), Kind.CONTRACTION),
    ],
)
def test_kinds_of_other_nodes(node, kind):
    weights = {"where": np.array([[0]]), "what": np.ones((1, 3), np.float32)}
    used = {name: array for name, array in weights.items() if name in node.input}
    trace = capture(model_of([node], [("x", FLOAT, [4, 3])], ["y"], used))
    assert only(trace, node.op_type).kind is kind


def test_fused_attention_is_one_step():
    node = helper.make_node("Attention", ["q", "k", "v"], ["y"], q_num_heads=2, kv_num_heads=2, is_causal=1, scale=0.25)
    x = [(name, FLOAT, [2, 5, 8]) for name in "qkv"]
    trace = capture(model_of([node], x, ["y"], opset=23))
    step = only(trace, "Attention")
    assert step.kind is Kind.ATTENTION and step.operands == trace.inputs
    assert step.attributes["is_causal"] is True and step.attributes["scale"] == 0.25
    assert step.attributes["q_num_heads"] == 2


def test_a_node_without_a_kernel_in_double_is_run_by_the_reference():
    from math import erf

    trace = capture(model_of([helper.make_node("Erf", ["x"], ["y"])], [("x", FLOAT, [7])], ["y"]), (np.arange(7.0),))
    assert trace.dtype == "float64"
    np.testing.assert_allclose(output(trace), [erf(x) for x in range(7)], rtol=1e-14)


def test_gelu_is_run_in_double():
    from math import erf

    nodes = [helper.make_node("Gelu", ["x"], ["y"]), helper.make_node("Gelu", ["x"], ["z"], approximate="tanh")]
    x = np.linspace(-3, 3, 8)
    trace = capture(model_of(nodes, [("x", FLOAT, [8])], ["y", "z"]), (x.astype(np.float64),))
    x = trace.values[trace.inputs[0]].array
    assert trace.dtype == "float64"
    np.testing.assert_allclose(output(trace), [a * (1 + erf(a / 2**0.5)) / 2 for a in x], rtol=1e-13)
    tanh = x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))) / 2
    np.testing.assert_allclose(output(trace, 1), tanh, rtol=1e-13)


@pytest.mark.parametrize(("scale", "dtype"), [(None, "float64"), (0.25, "float64"), (0.3, "float32")])
def test_a_number_in_an_attribute_is_in_single_precision(scale, dtype):
    given = {} if scale is None else {"scale": scale}
    node = helper.make_node("Attention", ["x", "x", "x"], ["y"], q_num_heads=2, kv_num_heads=2, **given)
    trace = capture(model_of([node], [("x", FLOAT, [2, 5, 8])], ["y"], opset=23))
    x = trace.values[trace.inputs[0]].array.reshape(2, 5, 2, 4).swapaxes(1, 2)
    scores = np.exp(x @ x.swapaxes(-1, -2) * (0.5 if scale is None else scale))
    expected = scores / scores.sum(-1, keepdims=True) @ x
    assert trace.dtype == dtype
    tolerance = 1e-12 if dtype == "float64" else 1e-6
    np.testing.assert_allclose(output(trace), expected.swapaxes(1, 2).reshape(2, 5, 8), rtol=tolerance, atol=tolerance)


def test_a_model_that_cannot_run_in_double_is_recorded_as_it_is():
    node = helper.make_node("MultiHeadAttention", ["q", "k", "v"], ["y"], domain="com.microsoft", num_heads=2)
    inputs = [(name, FLOAT, [2, 5, 8]) for name in "qkv"]
    model = model_of([node], inputs, ["y"], domains=("com.microsoft",))
    given = {name: normal(2, 5, 8) for name in "qkv"}
    trace = capture(model, (), given)
    assert trace.dtype == "float32" and only(trace, "MultiHeadAttention").kind is Kind.ATTENTION
    np.testing.assert_array_equal(output(trace), run(model, **given)[0])


def test_casts_to_the_models_own_precision_are_none():
    nodes = [
        helper.make_node("Mul", ["x", "w"], ["a"]),
        helper.make_node("Cast", ["a"], ["b"], to=FLOAT),
        helper.make_node("Exp", ["b"], ["y"]),
    ]
    w = normal(3)
    trace = capture(model_of(nodes, [("x", FLOAT, [3])], ["y"], {"w": w}), (np.ones(3),))
    np.testing.assert_allclose(output(trace), np.exp(w.astype(np.float64)), rtol=1e-14)


def test_a_seed_draws_parameters_and_keeps_what_is_tied():
    model = language_model()
    before = model.SerializeToString()
    trace = capture(model, (TOKENS,), seed=3)
    assert model.SerializeToString() == before
    drawn = {name: trace.values[index].array for name, index in trace.parameters.items()}
    original = {tensor.name: numpy_helper.to_array(tensor) for tensor in model.graph.initializer}
    assert not any(np.allclose(drawn[name], original[name]) for name in drawn)
    np.testing.assert_array_equal(drawn["unembed"], drawn["table"].T)
    np.testing.assert_array_equal(output(capture(model, (TOKENS,), seed=3)), output(trace))
    assert not np.array_equal(output(capture(model, (TOKENS,), seed=4)), output(trace))


def test_a_branch_is_the_one_that_is_taken(assert_in_order):
    then = helper.make_graph(
        [helper.make_node("Sin", ["x"], ["a"])], "then", [], [helper.make_tensor_value_info("a", FLOAT, None)]
    )
    other = helper.make_graph(
        [helper.make_node("Cos", ["x"], ["b"])], "else", [], [helper.make_tensor_value_info("b", FLOAT, None)]
    )
    node = helper.make_node("If", ["flag"], ["y"], then_branch=then, else_branch=other)
    model = model_of([node], [("x", FLOAT, [3])], ["y"], {"flag": np.array(False)})
    trace = capture(model, (np.arange(3.0),))
    assert_in_order(trace)
    assert [step.operation for step in trace.steps] == ["Cos"]
    np.testing.assert_allclose(output(trace), np.cos(np.arange(3.0)), rtol=1e-14)


def test_a_loop_is_opaque_and_reads_what_is_outside(assert_in_order):
    body = helper.make_graph(
        [helper.make_node("Mul", ["state", "w"], ["next"]), helper.make_node("Identity", ["go"], ["on"])],
        "body",
        [
            helper.make_tensor_value_info("turn", INT64, []),
            helper.make_tensor_value_info("go", BOOL, []),
            helper.make_tensor_value_info("state", FLOAT, [3]),
        ],
        [helper.make_tensor_value_info("on", BOOL, []), helper.make_tensor_value_info("next", FLOAT, [3])],
    )
    node = helper.make_node("Loop", ["turns", "", "x"], ["y"], body=body)
    model = model_of([node], [("x", FLOAT, [3])], ["y"], {"turns": np.array(3), "w": np.full(3, 2.0, np.float32)})
    trace = capture(model, (np.arange(3.0),))
    assert_in_order(trace)
    np.testing.assert_array_equal(output(trace), np.arange(3.0) * 8)
    assert "Loop" in trace.opaque[""]
    assert trace.parameters["w"] in only(trace, "Loop").operands


def test_sequences_of_tensors_are_followed(assert_in_order):
    nodes = [
        helper.make_node("SplitToSequence", ["x", "sizes"], ["parts"], axis=1),
        helper.make_node("SequenceAt", ["parts", "one"], ["second"]),
        helper.make_node("SequenceAt", ["parts", "zero"], ["first"]),
        helper.make_node("SequenceConstruct", ["second", "first"], ["swapped"]),
        helper.make_node("ConcatFromSequence", ["swapped"], ["y"], axis=1),
    ]
    numbers = {"sizes": np.array([2, 3]), "zero": np.array(0), "one": np.array(1)}
    x = normal(2, 5)
    trace = capture(model_of(nodes, [("x", FLOAT, [2, 5])], ["y"], numbers), (x,))
    assert_in_order(trace)
    np.testing.assert_array_equal(output(trace), x[:, [2, 3, 4, 0, 1]])
    assert [(step.operation, step.kind) for step in trace.steps] == [
        ("SplitToSequence", Kind.REARRANGEMENT),
        ("ConcatFromSequence", Kind.REARRANGEMENT),
    ]


def test_weights_in_constant_nodes_are_parameters():
    constant = helper.make_node("Constant", [], ["w"], value=numpy_helper.from_array(normal(3, 4)))
    model = model_of([constant, helper.make_node("MatMul", ["x", "w"], ["y"])], [("x", FLOAT, [2, 3])], ["y"])
    trace = capture(model)
    assert list(trace.parameters) == ["w"] and [step.operation for step in trace.steps] == ["MatMul"]


def test_inputs_are_guessed_from_the_graph():
    nodes = [
        helper.make_node("Gather", ["table", "input_ids"], ["x"]),
        helper.make_node("Gather", ["places", "position_ids"], ["p"]),
        helper.make_node("Gather", ["types", "token_type_ids"], ["t"]),
        helper.make_node("Sum", ["x", "p", "t", "extra"], ["s"]),
        helper.make_node("Identity", ["attention_mask"], ["m"]),
    ]
    shape = ["batch", "sequence"]
    inputs = [(name, INT64, shape) for name in ("input_ids", "position_ids", "token_type_ids", "attention_mask")]
    weights = {"table": normal(53, 4), "places": normal(16, 4), "types": normal(2, 4)}
    trace = capture(model_of(nodes, [*inputs, ("extra", FLOAT, [*shape, 4])], ["s", "m"], weights))
    ids, places, types, mask, extra = (trace.values[index].array for index in trace.inputs)
    assert ids.shape == (3, 11) and 16 < ids.max() < 53
    np.testing.assert_array_equal(places, np.broadcast_to(np.arange(11), (3, 11)))
    assert not types.any() and mask.all() and extra.shape == (3, 11, 4)


def test_inputs_by_name_and_by_place():
    model = model_of([helper.make_node("Sub", ["a", "b"], ["y"])], [("a", FLOAT, [3]), ("b", FLOAT, [3])], ["y"])
    trace = capture(model, (np.full(3, 5.0),), {"b": np.full(3, 2.0)})
    np.testing.assert_array_equal(output(trace), np.full(3, 3.0))


@pytest.mark.parametrize(("inputs", "keywords"), [((1, 2, 3), {}), ((), {"c": 1})])
def test_inputs_that_the_graph_lacks_are_refused(inputs, keywords):
    model = model_of([helper.make_node("Sub", ["a", "b"], ["y"])], [("a", FLOAT, [3]), ("b", FLOAT, [3])], ["y"])
    with pytest.raises(LoadError, match="the graph has the inputs a, b; it was handed"):
        capture(model, inputs, keywords)


def test_a_path_bytes_and_weights_beside_the_file(tmp_path):
    model = language_model()
    expected = output(capture(model, (TOKENS,)))
    np.testing.assert_array_equal(output(capture(model.SerializeToString(), (TOKENS,))), expected)
    path = tmp_path / "model.onnx"
    onnx.save(model, str(path), save_as_external_data=True, size_threshold=0, location="weights.bin")
    assert (tmp_path / "weights.bin").exists()
    np.testing.assert_array_equal(output(capture(path, (TOKENS,))), expected)
    np.testing.assert_array_equal(output(capture(str(path), (TOKENS,))), expected)


def test_what_is_no_model_is_refused(tmp_path):
    with pytest.raises(LoadError, match="a dict is no ONNX model; hand over a path"):
        capture({})
    with pytest.raises(LoadError, match="is no ONNX file"):
        capture(tmp_path / "nothing.onnx")
    (tmp_path / "text.onnx").write_text("hello, this is text")
    with pytest.raises(LoadError, match="is no ONNX file"):
        capture(tmp_path / "text.onnx")


# --- exported from torch ----------------------------------------------------------------------------------------------


def exported(tmp_path, dynamo):
    torch = pytest.importorskip("torch")
    pytest.importorskip("onnxscript")

    class Block(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.norm = torch.nn.LayerNorm(12)
            self.qkv = torch.nn.Linear(12, 36)
            self.out = torch.nn.Linear(12, 12)
            self.gelu = torch.nn.GELU()

        def forward(self, x):
            q, k, v = (t.view(2, 11, 3, 4).transpose(1, 2) for t in self.qkv(self.norm(x)).split(12, dim=-1))
            scores = (q @ k.transpose(-2, -1)) / 2.0
            scores = scores.masked_fill(torch.ones(11, 11).tril() == 0, float("-inf"))
            mixed = torch.softmax(scores, dim=-1) @ v
            return x + self.gelu(self.out(mixed.transpose(1, 2).reshape(2, 11, 12)))

    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.embed = torch.nn.Embedding(23, 12)
            self.layers = torch.nn.ModuleList(Block() for _ in range(2))

        def forward(self, tokens):
            x = self.embed(tokens)
            for layer in self.layers:
                x = layer(x)
            return x @ self.embed.weight.T

    torch.manual_seed(0)
    model = Model().eval()
    for parameter in model.parameters():
        # The exporter writes parameters with equal values once.
        parameter.data += 0.1 * torch.randn_like(parameter)
    path = tmp_path / "model.onnx"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(model, (torch.from_numpy(TOKENS),), str(path), dynamo=dynamo, verbose=False)
    with torch.no_grad():
        expected = model.double()(torch.from_numpy(TOKENS)).numpy()
    return path, expected, Block


@pytest.mark.parametrize("dynamo", [True, False])
def test_an_exported_model_gives_what_the_model_gives(tmp_path, dynamo, assert_in_order):
    path, expected, _ = exported(tmp_path, dynamo)
    trace = capture(path, (TOKENS,))
    assert_in_order(trace)
    assert trace.dtype == "float64"
    np.testing.assert_allclose(output(trace), expected, rtol=1e-9, atol=1e-9)
    assert {"layers.0", "layers.0.qkv", "layers.1.norm"} <= {step.module for step in trace.steps}


def test_an_exported_model_tells_classes_and_lines(tmp_path):
    path, _, block = exported(tmp_path, True)
    trace = capture(path, (TOKENS,))
    assert trace.modules["layers.0"] == "Block" and trace.modules["layers.0.qkv"] == "Linear"
    lines, start = inspect.getsourcelines(block.forward)
    softmax = next(step for step in trace.steps if step.operation == "Softmax")
    assert softmax.file == __file__ and "softmax" in lines[softmax.line - start]
