"""DistilBERT exported to ONNX for onnxruntime, as a server runs it."""

import contextlib
import io
import logging
import warnings

import distilbert_hf
import onnx
import torch
from torch import nn


class Wrapper(nn.Module):
    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, input_ids, attention_mask):
        return self.model(input_ids=input_ids, attention_mask=attention_mask).logits


def convert(model):
    return model


def build():
    model = convert(distilbert_hf.build())
    given = distilbert_hf.inputs()
    args = tuple(torch.as_tensor(given[name]) for name in ("input_ids", "attention_mask"))
    file = io.BytesIO()
    logging.disable(logging.WARNING)
    try:
        with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
            warnings.simplefilter("ignore")
            torch.onnx.export(Wrapper(model).eval(), args, dynamo=True, verbose=False).save(file)
    finally:
        logging.disable(logging.NOTSET)
    return onnx.load_from_string(file.getvalue())
