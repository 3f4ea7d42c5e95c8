"""Hugging Face's tokenizers over lines of text, for bench's row "tokens".

python tokenizers_peer.py PEERS_FOLDER tokenizer.json texts.txt [--reps 3] [--threads 1]

First pass: a tokenizer that has just been loaded. Then the same texts again, when it remembers words.
Prints one JSON line in the form of the peers' scripts; ids: SHA-256 over all ids, as little-endian 32-bit numbers.
"""
import argparse
import hashlib
import os
import sys

a = argparse.ArgumentParser()
a.add_argument("peers"), a.add_argument("tokenizer"), a.add_argument("texts")
a.add_argument("--reps", type=int, default=3), a.add_argument("--threads", type=int, default=1)
a = a.parse_args()
os.environ["RAYON_NUM_THREADS"] = str(a.threads)
os.environ["TOKENIZERS_PARALLELISM"] = str(a.threads > 1).lower()
sys.path.insert(0, a.peers)
import common  # noqa: E402  goes to the peers' virtual environment

TEXTS = open(a.texts, encoding="utf-8").read().splitlines()


def tool():
    import numpy as np
    import tokenizers
    tk = tokenizers.Tokenizer.from_file(a.tokenizer)
    encoded = common.step("tokenizers", "first pass", lambda: tk.encode_batch(TEXTS), 1, threads=a.threads)
    tokens = sum(len(e.ids) for e in encoded)
    common.ROWS[-1]["tokens_per_s"] = tokens / common.ROWS[-1]["wall_s"]
    common.step("tokenizers", "again", lambda: tk.encode_batch(TEXTS), a.reps, threads=a.threads)
    ids = hashlib.sha256(b"".join(np.array(e.ids, "<u4").tobytes() for e in encoded)).hexdigest()
    common.ROWS[-1] |= {"tokens_per_s": tokens / common.ROWS[-1]["wall_s"], "ids": ids}


if __name__ == "__main__":
    common.main("tokenizers", {"tokenizers": tool}, {"texts": len(TEXTS)}, ["tokenizers"])
