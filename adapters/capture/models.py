"""Whether an object is a model, and how a model is built: what `model.py:NAME` names, or an object from Python.

An implementation of operations (docs/interface.md) is no model. No framework is imported here: a model of a framework
exists only where the user's file has imported it.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from inspect import Parameter, Signature
from pathlib import Path
from types import ModuleType
from typing import Any

from veriformer.adapters import compilation_cache
from veriformer.adapters.arrays import FRAMEWORKS
from veriformer.adapters.built_in import BUILT_IN
from veriformer.adapters.capture.attention_layers import with_projections
from veriformer.adapters.capture.closures import pair_of_closure
from veriformer.adapters.capture.configuration import Plain, configuration_of
from veriformer.adapters.capture.guessed_sizes import guessed_arguments, words_of_guesses
from veriformer.adapters.capture.initialised import takes_layers, with_its_parameters
from veriformer.adapters.capture.jax_objects import is_jax_class, is_jax_object, pair_of
from veriformer.adapters.capture.linen import initialised
from veriformer.adapters.capture.numpy_models import is_numpy_class, is_numpy_model
from veriformer.adapters.capture.padding import stated_padding
from veriformer.adapters.capture.passes import with_both_passes
from veriformer.adapters.capture.probable import RECORDS
from veriformer.adapters.capture.random_state import seeded
from veriformer.adapters.capture.torch_objects import is_torch_object, module_of
from veriformer.adapters.errors import CaptureError, LoadError, NotAModel, describe
from veriformer.adapters.files import load_file
from veriformer.adapters.found_so_far import SO_FAR
from veriformer.adapters.import_errors import location
from veriformer.adapters.loading import is_path
from veriformer.adapters.modules import load_module, object_in
from veriformer.adapters.notices import misspelt_operations
from veriformer.adapters.signatures import builds_something, unaccepted_call
from veriformer.adapters.spelling import listing
from veriformer.spec.operations import OPERATIONS

# The classes of models, by the framework's name here, then the module and the class there.
_CLASSES = (
    ("torch", "torch.nn", "Module"),
    ("flax", "flax.nnx", "Module"),
    ("equinox", "equinox", "Module"),
    ("keras", "keras", "Layer"),
    ("onnx", "onnx", "ModelProto"),
)
# A class may need a source of random numbers in order to be built, and nothing else.
_RANDOM = ("rngs", "key", "rng", "prng_key")
_VARIABLE = (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD)
_LAYERS = ("encoder_layer", "decoder_layer", "encoder", "encoder_decoder", "language_model")
_MOST_NAMES = 5
_LONGEST_SIGNATURE = 120


@dataclass(frozen=True)
class Model:
    """A model that can be run, and the inputs that were handed over with it.

    `found` is a module of its framework, a pair (function, parameters), or an ONNX model or the path of its file.
    `inputs` is what stands beside the model in its file: a function, arrays, or None. `imports` lets it import from its
    own folder. `notes` are sentences about how it was built. `configuration` is what it says of itself, and `padding`
    the token that it says is padding.
    """

    name: str
    framework: str
    found: Any
    inputs: Any = None
    imports: Callable[[], AbstractContextManager[None]] = field(default=nullcontext, repr=False)
    notes: tuple[str, ...] = ()
    configuration: Mapping[str, Plain] = field(default_factory=dict)
    padding: int | None = None


def load_model(source: str | object) -> Model:
    """Return the model that `source` names or is: "model.py:GPT", "package.module:build", "model.onnx", an object.

    Raises NotAModel where it is something else, such as an implementation of operations; CaptureError where it is a
    model that cannot be built; LoadError where nothing can be loaded.
    """
    if isinstance(source, Model):
        return source
    with compilation_cache.kept():
        model = _loaded(source)
    SO_FAR.found(f"it is a model of {model.framework}")
    return model


def name_of(target: object) -> str:
    """Return what a model is called in a report."""
    if isinstance(target, str):
        return target
    if isinstance(target, Model):
        return target.name
    if isinstance(target, tuple | list) and target:
        # A function with its parameters.
        target = target[0]
    return getattr(target, "__name__", type(target).__name__)


def _loaded(source: str | object) -> Model:
    if not isinstance(source, str):
        return find_model(source, type(source).__name__)
    if source.endswith(".onnx"):
        return _onnx(source)
    if source.endswith(RECORDS):
        raise CaptureError(
            f"{source} is the record of a model, which cannot be run again; compare it with a model "
            f"(veriformer compare {source} model.py:build), or hand over the model itself"
        )
    place, _, path = source.partition(":")
    SO_FAR.begin(source)
    SO_FAR.doing("importing and building it")
    if source in BUILT_IN:
        raise NotAModel(f"{source} is a built-in implementation of operations, not a model")
    if not is_path(place):
        home = load_module(place, tuple(BUILT_IN))
        return find_model(object_in(home, path, place), source, home)
    home, siblings = load_file(place)
    with siblings.importable():
        return find_model(object_in(home, path, place), source, home, siblings.importable)


def find_model(
    found: object,
    name: str,
    home: ModuleType | None = None,
    imports: Callable[[], AbstractContextManager[None]] = nullcontext,
) -> Model:
    """Return the model that an object is or builds; `home` is the module that it was found in.

    Raises NotAModel where it is no model, CaptureError where it is one that cannot be built.
    """
    if isinstance(found, ModuleType):
        home = found
        found, name = _built_by_module(found, name), f"{name}:build"
    notes: list[str] = []
    if home is not None and _is_function(found) and not is_implementation(found, home):
        found = _with_what_it_needs(found, home, notes)
    if _is_linen(found):
        found = _initialised(found, name, notes, home)
    if is_implementation(found, home):
        raise NotAModel(f"{name} has operations of its own and is checked as an implementation, not as a model")
    model = _instance(found, name, notes)
    stating = model if _is_pair(model) and isinstance(model, tuple | list) else (model,)
    configuration = configuration_of(*stating, home=home)
    if _is_linen(model):
        model = _initialised(model, name, notes, home)
    framework = framework_of(model)
    if framework in (None, "numpy") and is_torch_object(model):
        framework, model = "torch", module_of(model)
    if framework in (None, "numpy") and is_jax_object(model) and not (model is found and _is_function(model)):
        framework, model = "jax", pair_of(model)
    if framework is None and _is_function(model) and model is not found:
        model = pair_of_closure(model) or model
        framework = framework_of(model)
    if framework is None:
        raise NotAModel(_no_model(model, found, name))
    padding = stated_padding(model, configuration, home)
    return Model(name, framework, model, getattr(home, "inputs", None), imports, tuple(notes), configuration, padding)


def _with_what_it_needs(function: Any, home: ModuleType, notes: list[str]) -> Any:
    """Return a function as a model: with its parameters, between projections, or with its gradients; else as it is."""
    ways: tuple[Callable[[], Any], ...] = (
        lambda: with_its_parameters(function, home, notes),
        lambda: with_projections(function, notes),
        lambda: with_both_passes(function, home, notes),
    )
    return next((model for way in ways if (model := way()) is not None), function)


def framework_of(found: object) -> str | None:
    """Return the framework of a model that is ready to run; None for anything else.

    That of a pair is NumPy where the function's module uses no other, else JAX.
    """
    for framework, module, kind in _CLASSES:
        known = _known_class(module, kind)
        if known is not None and isinstance(found, known):
            return framework
    if is_numpy_model(found):
        return "numpy"
    return "jax" if _is_pair(found) else None


def is_implementation(found: object, home: ModuleType | None = None) -> bool:
    """Return whether an object is an implementation of operations, whose functions must not be called as models.

    A module of a framework often has members called like operations (`encoder`, `softmax`); it is an implementation
    only if it, or the file that it is from, declares the framework of its operations.
    """
    operations = [name for name in OPERATIONS if _is_callable(_attribute(found, name))]
    if _model_class(found) is not None or framework_of(found) is not None:
        declared = any(_attribute(place, "framework") in FRAMEWORKS for place in (found, home) if place is not None)
        return bool(operations) and declared
    if _is_function(found):
        return _is_operation(found, home)
    return bool(operations) or isinstance(_attribute(found, "framework"), str)


def _is_function(found: object) -> bool:
    """Return whether an object is a function, perhaps a partial or wrapped one, as jax.jit returns."""
    return inspect.isroutine(found) or (callable(found) and (hasattr(found, "func") or hasattr(found, "__wrapped__")))


def _is_callable(found: object) -> bool:
    """Return whether an object may be an operation; a function that takes no argument builds a model."""
    return callable(found) and not builds_something(found)


def _is_operation(function: Any, home: ModuleType | None) -> bool:
    if builds_something(function):
        return False
    its = next((name for name in OPERATIONS if _attribute(home, name) is function), getattr(function, "__name__", ""))
    # A layer of parameters as the interface does not have them is a model.
    is_other = its in _LAYERS and (unaccepted_call(function, OPERATIONS[its]) or takes_layers(function))
    return its in OPERATIONS and not is_other


def _attribute(found: object, name: str) -> Any:
    # Reading an attribute may run code of the user's.
    try:
        return getattr(found, name, None)
    except Exception:
        return None


def _known_class(module: str, kind: str) -> type | None:
    # While a framework is being imported, it lacks parts.
    known = getattr(sys.modules.get(module), kind, None)
    return known if isinstance(known, type) else None


def _model_class(found: object) -> type | None:
    """Return the class that a model's class is derived from, None for anything else."""
    if not isinstance(found, type):
        return None
    known = (_known_class(module, kind) for _, module, kind in _CLASSES)
    return next((one for one in known if one is not None and issubclass(found, one)), None)


def _is_pair(found: object) -> bool:
    """Return whether an object is a function with its parameters, as JAX has it.

    The function may be a Flax Linen module, which has `apply`, and the parameters a module of NNX or Equinox.
    """
    if not isinstance(found, tuple | list) or len(found) != 2 or "jax" not in sys.modules:
        return False
    function, parameters = found
    if not callable(function) and not callable(_attribute(function, "apply")):
        return False
    if framework_of(parameters) in ("flax", "equinox"):
        return True
    return not callable(parameters) and _has_arrays(parameters)


def _has_arrays(tree: object) -> bool:
    leaves: list[Any] = sys.modules["jax"].tree_util.tree_leaves(tree)
    return any(hasattr(leaf, "shape") and hasattr(leaf, "dtype") for leaf in leaves)


# --- building ---------------------------------------------------------------------------------------------------------


def _built_by_module(module: ModuleType, name: str) -> object:
    """Return `build` of a module that has one and no operations."""
    if is_implementation(module) or misspelt_operations(module):
        raise NotAModel(f"{name} is a module of operations, not a model")
    build = _attribute(module, "build")
    if callable(build):
        return build
    models = _names_of_models(module)
    if models:
        raise CaptureError(f"{name} is a file; name the model in it: {listing(f'{name}:{one}' for one in models)}")
    raise NotAModel(f"{name} has neither a model nor a function build() that returns one")


def _names_of_models(module: ModuleType) -> list[str]:
    """Return the names of models and their classes that a module does not merely import, the last ones first."""
    names = [
        name
        for name, value in vars(module).items()
        if not name.startswith("_")
        and (framework_of(value) or (_model_class(value) and getattr(value, "__module__", "") == module.__name__))
    ]
    # The whole stands after its parts.
    return names[::-1][:_MOST_NAMES]


def _instance(found: object, name: str, notes: list[str]) -> object:
    """Return the model that an object is or builds; anything else as it is."""
    if framework_of(found) is not None:
        return found
    if _model_class(found) is not None or is_numpy_class(found) or is_jax_class(found):
        return _called(found, name, found, notes)
    if _is_function(found):
        required = _required(found)
        if required:
            raise NotAModel(_needs_arguments(found, name, required))
        built = _called(found, name, None, notes)
        if _model_class(built) is not None:
            built = _called(built, name, built, notes)
        return built
    return found


def _called(build: Any, name: str, kind: object, notes: list[str]) -> object:
    """Call a class or a function that builds a model, with random numbers for those that need them."""
    required = _required(build)
    known = {name: _random(name) for name in required if kind is not None and name in _RANDOM}
    sized = [one for one in required if one not in known]
    guesses = guessed_arguments(build, _signature(build), sized) if isinstance(build, type) else {}
    if guesses is None or set(sized) - set(guesses) or any(value is None for value in known.values()):
        raise CaptureError(_needs_arguments(build, name, required))
    try:
        with seeded(0):
            built = build(**known, **guesses)
            if guesses:
                notes.append(words_of_guesses(build.__name__, guesses))
            return built
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        if guesses:
            raise CaptureError(_needs_arguments(build, name, required)) from error
        own = f"{name} raised {describe(error)}{location(error)} while it was built; correct it, or write a function"
        raise CaptureError(f"{own} `build()` that returns the model, and name that") from error


def _random(name: str) -> Any:
    """Return what a class of Flax or Equinox wants as its source of random numbers; None where neither is there."""
    nnx, jax = sys.modules.get("flax.nnx"), sys.modules.get("jax")
    if name == "rngs":
        return None if nnx is None else nnx.Rngs(0)
    return None if jax is None else jax.random.PRNGKey(0)


def _required(found: Any) -> list[str]:
    """Return the parameters without which a class or function cannot be called."""
    try:
        parameters = _signature(found).parameters
    except (TypeError, ValueError):
        return []
    return [name for name, one in parameters.items() if one.default is Parameter.empty and one.kind not in _VARIABLE]


def _signature(found: Any) -> Signature:
    """Return a signature, of a class its own where a metaclass hides it."""
    signature = inspect.signature(found)
    if isinstance(found, type) and all(one.kind in _VARIABLE for one in signature.parameters.values()):
        own = inspect.signature(found.__init__)  # type: ignore[misc]
        return own.replace(parameters=list(own.parameters.values())[1:])
    return signature


def _needs_arguments(found: Any, name: str, required: list[str]) -> str:
    """Return what a class or function needs, and how to hand it over in a file."""
    own = getattr(found, "__name__", type(found).__name__)
    signature = str(_signature(found).replace(return_annotation=Signature.empty))
    if len(signature) > _LONGEST_SIGNATURE:
        signature = f"({', '.join(required)}, …)"
    place = name.partition(":")[0]
    file = place if place.endswith(".py") else "model.py"
    if isinstance(found, type):
        return (
            f"{name} needs arguments: {own}{signature}; write `def build(): return {own}(...)` in its file and name "
            f"{Path(file)}:build"
        )
    return (
        f"{name} is a function with required parameters: {own}{signature}; a function of parameters and inputs is "
        f"handed over with its parameters: write `def build(): return {own}, parameters` and name {Path(file)}:build"
    )


def lacks_forward(module: object) -> bool:
    """Return whether an object is a module of torch with only the forward method that raises NotImplementedError."""
    known = _known_class("torch.nn", "Module")
    if known is None or not isinstance(module, known):
        return False
    own: Any = module
    return getattr(own.forward, "__func__", None) is getattr(known, "forward", known)


def _is_linen(found: object) -> bool:
    """Return whether an object is a Flax Linen module without its parameters, or a class of them."""
    linen = _known_class("flax.linen", "Module")
    return linen is not None and (isinstance(found, linen) or (isinstance(found, type) and issubclass(found, linen)))


def _initialised(found: Any, name: str, notes: list[str], home: ModuleType | None) -> object:
    """Return a Flax Linen module, or a class of them, as a pair of a function and its parameters, or random ones."""
    pair = initialised(found, notes, getattr(home, "inputs", None))
    if pair is None:
        raise CaptureError(_needs_init(found, name))
    return pair


def _needs_init(found: Any, name: str) -> str:
    """Return what a Flax Linen module lacks, and the function that hands it over with its parameters."""
    kind = found if isinstance(found, type) else type(found)
    place = name.partition(":")[0]
    file = Path(place if place.endswith(".py") else "model.py")
    return (
        f"{name} is a Flax Linen module, which has no parameters before `init` is called with a key and inputs; hand "
        f"over the pair of both: write `def build(): model = {kind.__name__}{_arguments_of(kind)}; return model, "
        f"model.init(jax.random.key(0), inputs)` in its file, with inputs that it takes, and name {file}:build"
    )


def _arguments_of(kind: type) -> str:
    """Return how a class is called in an example; its own arguments, if there must be any, are left to the reader."""
    return "(...)" if _required(kind) else "()"


def _no_model(built: object, found: object, name: str) -> str:
    kinds = (
        "a torch.nn.Module, a Flax NNX, Equinox or Keras model, a pair (function, parameters) of JAX or NumPy, or an "
        "object with arrays of NumPy or JAX and a method forward or __call__"
    )
    if built is found:
        return f"{name} is {_a(found)}, which is no model; a model is {kinds}"
    return f"{name} returned {_a(built)}, which is no model; return {kinds}"


def _a(value: object) -> str:
    kind = type(value).__name__
    return f"{'an' if kind[0].casefold() in 'aeiou' else 'a'} {kind}"


def _onnx(source: str) -> Model:
    path = Path(source).expanduser()
    if not path.is_file():
        raise LoadError(f"there is no file {source}; check the path, seen from {Path.cwd()}")
    return Model(source, "onnx", str(path))
