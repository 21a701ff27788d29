"""Layer and RMS normalisation in PyTorch with backward passes of their own, which keep the inverse root."""

import torch

framework = "torch"
dtypes = ("float32", "float64", "bfloat16", "float16")


class LayerNorm(torch.autograd.Function):
    @staticmethod
    def forward(context, x, gamma, beta, eps):
        centred = x - x.mean(dim=-1, keepdim=True)
        inverse = torch.rsqrt(centred.square().mean(dim=-1, keepdim=True) + eps)
        normalised = centred * inverse
        context.save_for_backward(normalised, inverse, gamma)
        return normalised * gamma + beta

    @staticmethod
    def backward(context, grad_output):
        normalised, inverse, gamma = context.saved_tensors
        grad_normalised = grad_output * gamma
        shared = grad_normalised.mean(dim=-1, keepdim=True)
        share = (grad_normalised * normalised).mean(dim=-1, keepdim=True)
        grad_x = inverse * (grad_normalised - shared - normalised * share)
        grad_gamma = (grad_output * normalised).reshape(-1, gamma.numel()).sum(dim=0)
        grad_beta = grad_output.reshape(-1, gamma.numel()).sum(dim=0)
        return grad_x, grad_gamma, grad_beta, None


class RmsNorm(torch.autograd.Function):
    @staticmethod
    def forward(context, x, gamma, eps):
        inverse_root = torch.rsqrt(x.square().mean(dim=-1, keepdim=True) + eps)
        context.save_for_backward(x, inverse_root, gamma)
        return x * inverse_root * gamma

    @staticmethod
    def backward(context, grad_output):
        x, inverse_root, gamma = context.saved_tensors
        scaled = grad_output * gamma
        part = (scaled * x * inverse_root).mean(dim=-1, keepdim=True) * inverse_root
        grad_x = inverse_root * (scaled - x * part)
        grad_gamma = (grad_output * x * inverse_root).reshape(-1, gamma.numel()).sum(dim=0)
        return grad_x, grad_gamma, None


def layer_norm(x, gamma, beta, *, eps):
    return LayerNorm.apply(x, gamma, beta, eps)


def rms_norm(x, gamma, *, eps):
    return RmsNorm.apply(x, gamma, eps)
