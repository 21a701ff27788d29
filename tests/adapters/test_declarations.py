"""What an implementation declares is validated: every refusal names what was received and what would do."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from veriformer.adapters.errors import LoadError
from veriformer.adapters.loading import load


def softmax(x):
    return x


def failure(**attributes) -> str:
    with pytest.raises(LoadError) as caught:
        load(SimpleNamespace(**{"softmax": softmax} | attributes))
    return str(caught.value)


def test_no_operation_lists_them_and_the_near_misses():
    message = failure(softmax=None, layernorm=softmax, unrelated=softmax)
    assert message.startswith(
        "SimpleNamespace declares no operation; near misses: layernorm (did you mean layer_norm?);"
    )
    assert "`veriformer list operations`" in message
    assert "near misses" not in failure(softmax=None)


def test_a_function_without_arguments_is_a_builder_whatever_it_is_called():
    def gelu(width=3):
        return width

    assert list(load(SimpleNamespace(softmax=softmax, gelu=gelu)).operations) == ["softmax"]
    assert "near misses" not in failure(softmax=None, layernorm=lambda: 1)
    assert failure(softmax=None, gelu=gelu).startswith("SimpleNamespace declares no operation;")


def test_an_operation_that_cannot_be_called():
    assert failure(layer_norm=1e-5) == "SimpleNamespace: layer_norm is a float; make it a function, or rename it"


def test_an_attribute_that_raises_when_read():
    class Mine:
        @property
        def softmax(self):
            raise RuntimeError("no weights yet")

    with pytest.raises(LoadError, match="Mine: reading softmax raised RuntimeError: no weights yet; make it a plain"):
        load(Mine())


def test_an_unknown_framework():
    message = failure(framework="pytorch")
    assert message.startswith("SimpleNamespace: framework is 'pytorch'; set it to one of 'numpy', 'torch', 'jax'")
    assert message.endswith("did you mean 'torch'?")
    assert "framework is 3" in failure(framework=3)


@pytest.mark.parametrize("dtypes", ["float32", 32, (), [1], None, {"float32"}])
def test_dtypes_that_are_no_sequence_of_names(dtypes):
    assert 'set it to a sequence of one or more dtype names, for example ("float32", "float64")' in failure(
        dtypes=dtypes
    )


def test_unknown_dtypes():
    message = failure(dtypes=("float32", "flaot64"))
    assert "dtypes has 'flaot64'; the names are float16, bfloat16, float32, float64; did you mean 'float64'?" in message


def test_dtypes_that_the_framework_lacks():
    assert "dtypes has 'bfloat16', but numpy has no bfloat16" in failure(dtypes=["bfloat16"])
    pytest.importorskip("jax")
    assert "dtypes has 'float64', but jax has float64 only with x64" in failure(framework="jax", dtypes=["float64"])


def test_a_dtype_is_tested_once():
    found = load(SimpleNamespace(softmax=softmax, dtypes=["float64", "float32", "float64"]))
    assert found.dtypes == ("float64", "float32")


def test_conventions_that_are_no_mapping():
    message = failure(conventions=["top_left"])
    assert message.startswith("SimpleNamespace: conventions is a list; set it to a mapping")
    assert "the key 3" in failure(conventions={3: "top_left"})


def test_an_unknown_convention():
    message = failure(conventions={"causal_alignement": "top_left"})
    assert message.endswith("no convention is called 'causal_alignement'; did you mean 'causal_alignment'?")
    assert "known are mask_polarity, causal_alignment" in failure(conventions={"zzz": "top_left"})


def test_an_unknown_value_of_a_convention():
    message = failure(conventions={"causal_alignment": "topleft"})
    assert message.endswith("is 'topleft'; its values are top_left, bottom_right; did you mean 'top_left'?")
    assert "causal_alignment is True; its values are" in failure(conventions={"causal_alignment": True})


def test_a_convention_of_one_operation():
    message = failure(conventions={"layernorm.layer_norm_eps": "inside_root"})
    assert message.endswith("'layernorm' is not an operation; did you mean 'layer_norm'?")
    assert "no convention is called 'eps'" in failure(conventions={"layer_norm.eps": "inside_root"})


def test_limitations():
    assert "no limitation is called 'value_widht'; did you mean 'value_width'?" in failure(limitations=("value_widht",))
    assert "set it to a sequence of names" in failure(limitations="value_width")
    found = load(SimpleNamespace(softmax=softmax, limitations=["softmax.value_width"]))
    assert found.limitations == ("softmax.value_width",)


def test_what_is_declared_cannot_be_changed_afterwards():
    conventions = {"layout": "blhd"}
    found = load(SimpleNamespace(softmax=softmax, conventions=conventions))
    conventions["layout"] = "bhld"
    assert found.conventions == {"layout": "blhd"}
    with pytest.raises(TypeError):
        found.conventions["layout"] = "bhld"
