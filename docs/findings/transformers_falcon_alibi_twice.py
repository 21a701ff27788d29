"""Falcon with ALiBi adds the bias twice with eager attention: in the mask, and again to the logits."""

import torch
from transformers import FalconConfig, FalconForCausalLM

sizes = {"vocab_size": 65, "hidden_size": 48, "num_hidden_layers": 1, "num_attention_heads": 4}
kind = {"alibi": True, "multi_query": False, "parallel_attn": False, "bos_token_id": 1, "eos_token_id": 2}
eager = FalconForCausalLM(FalconConfig(**sizes, **kind, attn_implementation="eager")).eval()
fused = FalconForCausalLM(FalconConfig(**sizes, **kind, attn_implementation="sdpa")).eval()
for parameter in eager.parameters():
    torch.nn.init.normal_(parameter, std=0.3, generator=torch.Generator().manual_seed(parameter.numel()))
fused.load_state_dict(eager.state_dict())
difference = (eager(torch.arange(3, 14)[None]).logits - fused(torch.arange(3, 14)[None]).logits).abs().max()
print("largest difference of the logits, eager and sdpa:", float(difference))
assert difference > 1e-2
