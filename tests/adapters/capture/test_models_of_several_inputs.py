"""Models of several inputs run without being told any: an image with a step and a class, states with actions, texts."""

from __future__ import annotations

import pytest
from veriformer.adapters.capture.captured import recorded_pass
from veriformer.adapters.capture.models import load_model

torch = pytest.importorskip("torch")
nn = torch.nn


class Diffusing(nn.Module):
    def __init__(self):
        super().__init__()
        self.patch, self.pos = nn.Conv2d(4, 24, 2, 2), nn.Parameter(torch.randn(1, 16, 24))
        self.t_embed, self.y_embed, self.out = nn.Linear(1, 24), nn.Embedding(11, 24), nn.Linear(24, 16)

    def forward(self, x, t, y):
        x = self.patch(x).flatten(2).transpose(1, 2) + self.pos
        return self.out(x + (self.t_embed(t[:, None].float()) + self.y_embed(y))[:, None])


class Deciding(nn.Module):
    """A decision transformer: returns, states and actions, one after the other."""

    def __init__(self):
        super().__init__()
        self.embed_timestep, self.embed_state = nn.Embedding(30, 24), nn.Linear(17, 24)
        self.embed_action, self.embed_rtg = nn.Linear(3, 24), nn.Linear(1, 24)
        self.predict_action = nn.Linear(24, 3)

    def forward(self, timesteps, states, actions, returns_to_go):
        at = self.embed_timestep(timesteps)
        parts = (self.embed_rtg(returns_to_go), self.embed_state(states), self.embed_action(actions))
        x = torch.stack([one + at for one in parts], 1).transpose(1, 2).flatten(1, 2)
        return self.predict_action(x.cumsum(1)[:, 1::3])


class Contrasting(nn.Module):
    def __init__(self):
        super().__init__()
        self.patch, self.pos = nn.Conv2d(3, 24, 4, 4, bias=False), nn.Parameter(torch.randn(50, 24))
        self.token_embedding = nn.Embedding(60, 24)

    def forward(self, image, text):
        x = self.patch(image).flatten(2).transpose(1, 2)
        x = torch.cat((x.new_zeros(len(x), 1, 24), x), 1) + self.pos
        return x.mean(1) @ self.token_embedding(text).mean(1).T


@pytest.mark.parametrize(
    ("model", "shapes"),
    (
        (Diffusing, [(4, 8, 8), (), ()]),
        (Deciding, [(11,), (11, 17), (11, 3), (11, 1)]),
        (Contrasting, [(3, 28, 28), (11,)]),
    ),
)
def test_inputs_are_guessed_by_their_names(model, shapes):
    found = recorded_pass(load_model(model()), seed=0)
    recorded = [found.trace.values[index].array for index in found.trace.inputs]
    assert [one.shape[1:] for one in recorded] == shapes
    assert len({len(one) for one in recorded}) == 1 and len(recorded[0]) > 1
