"""Small models that take vectors and more of each sample, right ones and wrong ones, for the laws of whole models."""

from __future__ import annotations

import torch
from torch import nn

WIDTH, STEPS = 8, 50


class Conditioned(nn.Module):
    """Vectors x (B, L, E) whose norm is multiplied and moved by what the time steps t (B,) give."""

    def __init__(self):
        super().__init__()
        self.steps, self.map = nn.Embedding(STEPS, 2 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.norm = nn.LayerNorm(WIDTH, elementwise_affine=False)

    def conditions(self, t):
        return self.steps(t)

    def forward(self, x, t):
        gain, shift = self.conditions(t)[:, None].chunk(2, -1)
        return x + self.map(self.norm(x) * (1 + gain) + shift)


class StepOfTheFirst(Conditioned):
    """Wrong: each sample gets the time step of the first."""

    def conditions(self, t):
        return self.steps(t[:1]).expand(len(t), -1)


class StepsReversed(Conditioned):
    """Wrong: the samples get each other's time steps."""

    def conditions(self, t):
        return self.steps(t.flip(0))


def given(steps=(7, 31, 19), length=5):
    x = torch.randn(len(steps), length, WIDTH, generator=torch.Generator().manual_seed(0))
    return x, torch.tensor(steps)


def parameters_of_jax():
    import jax.numpy as jnp
    import numpy as np

    draw = np.random.default_rng(0)
    sizes = {"steps": (STEPS, 2 * WIDTH), "map": (WIDTH, WIDTH)}
    return {name: jnp.asarray(draw.normal(size=size), jnp.float32) for name, size in sizes.items()}


def in_jax(parameters, x, t):
    import jax.numpy as jnp

    gain, shift = jnp.split(parameters["steps"][t][:, None], 2, -1)
    return x + (x * (1 + gain) + shift) @ parameters["map"]


def step_of_the_first_in_jax(parameters, x, t):
    """Wrong: each sample gets the time step of the first."""
    return in_jax(parameters, x, t[:1].repeat(len(t)))


class Normalised(torch.autograd.Function):
    """A layer norm without gain and shift, with a gradient of its own."""

    @staticmethod
    def forward(ctx, x):
        centred = x - x.mean(-1, keepdim=True)
        inverse = (centred.square().mean(-1, keepdim=True) + 1e-5).rsqrt()
        ctx.save_for_backward(centred * inverse, inverse)
        return centred * inverse

    @staticmethod
    def backward(ctx, gradient):
        normed, inverse = ctx.saved_tensors
        mean = gradient.mean(-1, keepdim=True)
        return inverse * (gradient - mean - normed * (gradient * normed).mean(-1, keepdim=True))


class WithoutInverse(Normalised):
    """Wrong: the gradient lacks the factor 1 / σ."""

    @staticmethod
    def backward(ctx, gradient):
        normed, _ = ctx.saved_tensors
        mean = gradient.mean(-1, keepdim=True)
        return gradient - mean - normed * (gradient * normed).mean(-1, keepdim=True)


class OwnNorm(nn.Module):
    """A map of a norm of vectors: no parameter stands before the norm."""

    def __init__(self, norm=Normalised):
        super().__init__()
        self.norm, self.map = norm, nn.Linear(WIDTH, 6)

    def forward(self, features):
        return self.map(self.norm.apply(features))


class Detaching(nn.Module):
    """What it is given is made elsewhere, and gets no gradient, as the features of a frozen encoder."""

    def __init__(self):
        super().__init__()
        self.map, self.head = nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, 6)

    def forward(self, features):
        return self.head(self.map(features.detach()).tanh())


class Contrasting(nn.Module):
    """The products of every image with every text, as those of CLIP."""

    def __init__(self):
        super().__init__()
        self.visual, self.embed = nn.Linear(3 * 8 * 8, WIDTH), nn.Embedding(STEPS, WIDTH)

    def forward(self, image, text):
        images, texts = self.visual(image.flatten(1)), self.embed(text).mean(1)
        images, texts = (one / one.norm(dim=-1, keepdim=True) for one in (images, texts))
        return images @ texts.T


def own_norm_in_jax(*, is_right):
    """Return a map of a norm with a gradient of its own, which lacks the factor 1 / σ where it is wrong."""
    import jax
    import jax.numpy as jnp

    @jax.custom_vjp
    def norm(x):
        return forward(x)[0]

    def forward(x):
        centred = x - x.mean(-1, keepdims=True)
        inverse = 1 / jnp.sqrt((centred**2).mean(-1, keepdims=True) + 1e-5)
        return centred * inverse, (centred * inverse, inverse)

    def backward(kept, gradient):
        normed, inverse = kept
        mean = gradient.mean(-1, keepdims=True)
        found = gradient - mean - normed * (gradient * normed).mean(-1, keepdims=True)
        return (found * inverse if is_right else found,)

    norm.defvjp(forward, backward)
    return lambda parameters, features: norm(features) @ parameters["map"]
