"""Ids and text by the tokenizer that transformers reads from a folder; needs no PyTorch.

python -m tests.peers.transformers_tokens FOLDER TEXT
"""

import json
import sys

from transformers import AutoTokenizer

if __name__ == "__main__":
    folder, text = sys.argv[1:]
    tokenizer = AutoTokenizer.from_pretrained(folder)
    ids = tokenizer(text)["input_ids"]
    print(json.dumps({"ids": ids, "text": tokenizer.decode(ids), "end": tokenizer.eos_token}))
