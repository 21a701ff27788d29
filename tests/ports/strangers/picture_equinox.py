"""The vision transformer in Equinox: one picture at a time under vmap, patches as a matrix product."""

import equinox as eqx
import jax
import jax.numpy as jnp
import picture_torch


class Norm(eqx.Module):
    gain: jax.Array
    shift: jax.Array
    eps: float = eqx.field(static=True, default=1e-6)

    def __call__(self, x):
        centred = x - x.mean(-1, keepdims=True)
        return centred / jnp.sqrt((centred**2).mean(-1, keepdims=True) + self.eps) * self.gain + self.shift


class Block(eqx.Module):
    norm1: Norm
    norm2: Norm
    wq: jax.Array
    wk: jax.Array
    wv: jax.Array
    bq: jax.Array
    bk: jax.Array
    bv: jax.Array
    wo: jax.Array
    bo: jax.Array
    fc1: eqx.nn.Linear
    fc2: eqx.nn.Linear
    scale1: jax.Array
    scale2: jax.Array

    def attend(self, x):
        q = jnp.einsum("nd,dhk->hnk", x, self.wq) + self.bq[:, None]
        k = jnp.einsum("nd,dhk->hnk", x, self.wk) + self.bk[:, None]
        v = jnp.einsum("nd,dhk->hnk", x, self.wv) + self.bv[:, None]
        weights = jax.nn.softmax(q @ k.mT / q.shape[-1] ** 0.5, axis=-1)
        return jnp.einsum("hnk,hkd->nd", weights @ v, self.wo) + self.bo

    def __call__(self, x):
        x = x + self.scale1 * self.attend(self.norm1(x))
        hidden = jax.nn.gelu(jax.vmap(self.fc1)(self.norm2(x)), approximate=False)
        return x + self.scale2 * jax.vmap(self.fc2)(hidden)


class Picture(eqx.Module):
    kernel: jax.Array
    bias: jax.Array
    class_token: jax.Array
    places: jax.Array
    blocks: list
    norm: Norm
    head: eqx.nn.Linear

    def one(self, pixels):
        patches = pixels.reshape(3, 3, 4, 3, 4).transpose(1, 3, 0, 2, 4).reshape(9, 48)
        x = patches @ self.kernel + self.bias + self.places
        x = jnp.concatenate([self.class_token, x])
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x)[0])

    def __call__(self, pixels):
        return jax.vmap(self.one)(pixels)


def linear(state, at):
    weight, bias = state[at + ".weight"], state[at + ".bias"]
    layer = eqx.nn.Linear(weight.shape[1], weight.shape[0], key=jax.random.key(0))
    return eqx.tree_at(lambda one: (one.weight, one.bias), layer, (weight, bias))


def norm(state, at):
    return Norm(state[at + ".weight"], state[at + ".bias"])


def block(state, at):
    wq, wk, wv = state[at + ".attn.qkv.weight"].reshape(3, 4, 8, 32).transpose(0, 3, 1, 2)
    bq, bk, bv = state[at + ".attn.qkv.bias"].reshape(3, 4, 8)
    return Block(
        norm1=norm(state, at + ".norm1"),
        norm2=norm(state, at + ".norm2"),
        wq=wq,
        wk=wk,
        wv=wv,
        bq=bq,
        bk=bk,
        bv=bv,
        wo=state[at + ".attn.proj.weight"].T.reshape(4, 8, 32),
        bo=state[at + ".attn.proj.bias"],
        fc1=linear(state, at + ".fc1"),
        fc2=linear(state, at + ".fc2"),
        scale1=state[at + ".scale1"],
        scale2=state[at + ".scale2"],
    )


def build():
    state = {name: jnp.asarray(value.numpy()) for name, value in picture_torch.build().state_dict().items()}
    return Picture(
        kernel=state["patch.weight"].reshape(32, 48).T,
        bias=state["patch.bias"],
        class_token=state["cls"][0],
        places=state["places_emb"][0],
        blocks=[block(state, f"blocks.{i}") for i in range(2)],
        norm=norm(state, "norm"),
        head=linear(state, "head"),
    )
