"""Rotary embeddings whose frequencies are no powers of one base, and such whose are."""

import torch
from small import Attention, Block, Decoder


def _by(frequency_of):
    def turn(x):
        n, d = x.shape[-2:]
        frequency = frequency_of(torch.arange(0, d, 2) / d)
        angle = torch.outer(torch.arange(n), frequency).repeat(1, 2).to(x.dtype)
        first, second = x.chunk(2, -1)
        return x * angle.cos() + torch.cat([-second, first], -1) * angle.sin()

    return Decoder(lambda: Block(attention=lambda: Attention(turn, heads=6)))


def plain():
    return _by(lambda exponent: 500000.0**-exponent)


def usual():
    return _by(lambda exponent: 10000.0**-exponent)


def slow_ones_divided():
    def scaled(exponent):
        frequency = 500000.0**-exponent
        return torch.where(2 * torch.pi / frequency > 64, frequency / 32, frequency)

    return _by(scaled)


def all_times_one_and_a_half():
    return _by(lambda exponent: 1.5 * 10000.0**-exponent)


def last_one_doubled():
    def scaled(exponent):
        frequency = 10000.0**-exponent
        return torch.where(exponent == exponent.max(), 2 * frequency, frequency)

    return _by(scaled)
