"""Print the inside of a model in a folder, as TransformerLens sees it.

    python -m tests.peers.transformer_lens_model FOLDER TEXT

Needs PyTorch and imports nothing of el_jax. Prints, as JSON, the ids of the text, logits of all its
positions, the residual stream after each layer and the attention weights of each layer.
"""

import json
import sys

import torch
from transformer_lens.model_bridge import TransformerBridge


def main(folder, text):
    bridge = TransformerBridge.boot_transformers(folder, device="cpu")
    ids = bridge.tokenizer(text, return_tensors="pt", add_special_tokens=False)["input_ids"]
    with torch.no_grad():
        logits, cache = bridge.run_with_cache(ids, prepend_bos=False)
    layers = range(bridge.cfg.n_layers)
    seen = {
        "ids": ids[0],
        "logits": logits[0],
        "resid": torch.stack([cache[f"blocks.{i}.hook_out"][0] for i in layers]),
        "attention": torch.stack([cache[f"blocks.{i}.attn.hook_pattern"][0] for i in layers]),
    }
    print(json.dumps({name: tensor.tolist() for name, tensor in seen.items()}))


if __name__ == "__main__":
    main(*sys.argv[1:])
