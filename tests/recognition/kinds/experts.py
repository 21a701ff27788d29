"""Mixtures of experts, right ones and such whose router or shares are wrong."""

import torch
from small import WIDTH, Block, Decoder, Gated
from torch import nn


class Experts(nn.Module):
    def __init__(self, route, experts=8, shared=False):
        super().__init__()
        self.router, self.route = nn.Linear(WIDTH, experts, bias=False), route
        self.experts = nn.ModuleList(Gated(32) for _ in range(experts))
        self.shared = Gated(64) if shared else None
        self.register_buffer("correction", torch.linspace(-0.5, 0.5, experts))

    def forward(self, x):
        flat = x.reshape(-1, x.shape[-1])
        which, shares = self.route(self.router(flat), self.correction)
        out = torch.zeros_like(flat)
        for number, expert in enumerate(self.experts):
            rows, slot = (which == number).nonzero(as_tuple=True)
            if len(rows):
                out.index_add_(0, rows, expert(flat[rows]) * shares[rows, slot, None])
        out = out.view_as(x)
        return out if self.shared is None else out + self.shared(x)


def top_two(scores, _):
    best, which = scores.topk(2, dim=-1)
    return which, best.softmax(-1)


def top_one_of_all(scores, _):
    best, which = scores.softmax(-1).topk(1, dim=-1)
    return which, best


def corrected(scores, correction):
    scores = scores.sigmoid()
    which = (scores + correction).topk(3, dim=-1).indices
    shares = scores.gather(-1, which)
    return which, 2.5 * shares / shares.sum(-1, keepdim=True)


def exchanged(scores, _):
    best, which = scores.topk(2, dim=-1)
    return which, best.softmax(-1).flip(-1)


def of_the_next_token(scores, _):
    best, which = scores.topk(2, dim=-1)
    return which, best.softmax(-1).roll(1, 0)


def over_tokens(scores, _):
    best, which = scores.softmax(0).topk(2, dim=-1)
    return which, best


def alike(scores, _):
    which = scores.topk(2, dim=-1).indices
    return which, torch.full(which.shape, 0.5, dtype=scores.dtype)


def lowest(scores, _):
    worst, which = scores.topk(2, dim=-1, largest=False)
    return which, worst.softmax(-1)


def of_the_first(scores, _):
    best, which = scores.topk(2, dim=-1)
    return which, best.softmax(-1)[..., :1].expand(-1, 2)


def with_correction(scores, correction):
    best, which = (scores.sigmoid() + correction).topk(3, dim=-1)
    return which, best / best.sum(-1, keepdim=True)


def with_bare_correction(scores, correction):
    best, which = (scores.sigmoid() + correction).topk(3, dim=-1)
    return which, best


def _grouped(scores, *, best):
    scores = scores.sigmoid()
    groups = scores.unflatten(-1, (4, -1))
    chosen = torch.zeros(groups.shape[:2], dtype=torch.bool)
    chosen.scatter_(1, groups.topk(2, dim=-1).values.sum(-1).topk(2, dim=-1).indices, True)
    shown = groups.masked_fill(~(chosen if best else ~chosen)[..., None], -torch.inf).flatten(-2)
    which = shown.topk(3, dim=-1).indices
    shares = scores.gather(-1, which)
    return which, shares / shares.sum(-1, keepdim=True)


def in_groups(scores, _):
    return _grouped(scores, best=True)


def outside_of_groups(scores, _):
    return _grouped(scores, best=False)


def squared(scores, _):
    # A way to share that no known model has.
    best, which = scores.topk(2, dim=-1)
    return which, best.square() / best.square().sum(-1, keepdim=True)


def _model(route, **given):
    return Decoder(lambda: Block(lambda: Experts(route, **given)))


def many_of_which_some_are_idle():
    return _model(top_two, experts=24)


def switch():
    return _model(top_one_of_all, experts=4)


def with_a_shared_one():
    return _model(corrected, shared=True)


def within_groups():
    return _model(in_groups)


def build_of_the_first():
    return _model(of_the_first)


def build_with_correction():
    return _model(with_correction)


def build_with_bare_correction():
    return _model(with_bare_correction)


def build_outside_of_groups():
    return _model(outside_of_groups)


def build_exchanged():
    return _model(exchanged)


def build_of_the_next_token():
    return _model(of_the_next_token)


def build_over_tokens():
    return _model(over_tokens)


def build_alike():
    return _model(alike)


def build_lowest():
    return _model(lowest)


def build_squared():
    return _model(squared)
