"""The peer of scripts/bench/train: the same network, batches and work in PyTorch.

Reads one line of JSON, the configuration and the pairs of all batches as ids,
then commands, one a line; answers `step` (one update over the next batch) with
{"seconds", "tokens"} and `report` with {"memory_bytes", "parts", "name"}.

PyTorch pads. So that it wastes little, a batch, which comes sorted by length,
is cut into parts whose gradients are added up; the number of parts is the one
that is fastest in a trial. The output layer sees the real target rows alone.
"""
import json
import math
import resource
import sys
import time

import torch
import torch.nn.functional as F
from torch import nn

PAD = -1


class Attention(nn.Module):
    def __init__(self, width, heads, cross):
        super().__init__()
        self.heads, self.cross = heads, cross
        if cross:
            self.query = nn.Linear(width, width)
            self.key_value = nn.Linear(width, 2 * width)
        else:
            self.all = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)

    def split(self, x):
        return x.unflatten(-1, (self.heads, -1)).transpose(1, 2)

    def forward(self, x, memory=None, mask=None, causal=False):
        if self.cross:
            query = self.query(x)
            key, value = self.key_value(memory).chunk(2, -1)
        else:
            query, key, value = self.all(x).chunk(3, -1)
        y = F.scaled_dot_product_attention(
            self.split(query), self.split(key), self.split(value),
            attn_mask=mask, is_causal=causal)
        return self.out(y.transpose(1, 2).flatten(2))


class Layer(nn.Module):
    def __init__(self, c, decoder):
        super().__init__()
        width = c["d_model"]
        self.self_attention = Attention(width, c["num_heads"], False)
        self.cross = Attention(width, c["num_heads"], True) if decoder else None
        self.up = nn.Linear(width, c["ffn_dim"])
        self.down = nn.Linear(c["ffn_dim"], width)
        self.norms = nn.ModuleList(
            nn.LayerNorm(width) for _ in range(3 if decoder else 2))
        self.dropout = nn.Dropout(c["dropout"])

    def forward(self, x, mask, memory=None):
        causal = self.cross is not None
        y = self.self_attention(x, mask=None if causal else mask, causal=causal)
        x = self.norms[0](x + self.dropout(y))
        if causal:
            y = self.cross(x, memory, mask)
            x = self.norms[1](x + self.dropout(y))
        y = self.down(F.relu(self.up(x)))
        return self.norms[-1](x + self.dropout(y))


class Transformer(nn.Module):
    def __init__(self, c, longest):
        super().__init__()
        width = c["d_model"]
        self.scale = math.sqrt(width)
        self.embedding = nn.Parameter(
            torch.randn(c["vocab"], width) / self.scale)
        self.output_bias = nn.Parameter(torch.zeros(c["vocab"]))
        self.encoder = nn.ModuleList(
            Layer(c, False) for _ in range(c["layers"]))
        self.decoder = nn.ModuleList(Layer(c, True) for _ in range(c["layers"]))
        self.dropout = nn.Dropout(c["dropout"])
        place = torch.arange(longest)[:, None]
        rate = torch.exp(torch.arange(0, width, 2) * -math.log(1e4) / width)
        sines = torch.stack([torch.sin(place * rate), torch.cos(place * rate)], -1)
        self.register_buffer("positions", sines.flatten(1))

    def embed(self, ids):
        x = F.embedding(ids.clamp(min=0), self.embedding) * self.scale
        return self.dropout(x + self.positions[:ids.shape[1]])

    def forward(self, source, target_in, target_out):
        mask = (source != PAD)[:, None, None, :]
        memory = self.embed(source)
        for layer in self.encoder:
            memory = layer(memory, mask)
        x = self.embed(target_in)
        for layer in self.decoder:
            x = layer(x, mask, memory)
        real = target_out != PAD
        logits = F.linear(x[real], self.embedding, self.output_bias)
        return F.cross_entropy(logits, target_out[real], label_smoothing=0.1,
                               reduction="sum")


def padded(rows):
    longest = max(map(len, rows))
    return torch.tensor([r + [PAD] * (longest - len(r)) for r in rows])


def part_of(pairs):
    end, begin = 2, 1
    source = padded([s + [end] for s, _ in pairs])
    target_in = padded([[begin] + t for _, t in pairs])
    target_out = padded([t + [end] for _, t in pairs])
    return source, target_in, target_out


class Bench:
    def __init__(self, setup):
        batches = setup["batches"]
        longest = max(len(side) for b in batches for p in b for side in p) + 1
        torch.manual_seed(1)
        self.model = Transformer(setup, longest).train()
        self.optimizer = torch.optim.Adam(
            self.model.parameters(), lr=1e-4, betas=(0.9, 0.98), eps=1e-9,
            fused=True)
        self.tokens = [sum(len(s) + len(t) + 2 for s, t in b) for b in batches]
        self.pieces = [sum(len(t) + 1 for _, t in b) for b in batches]
        self.steps = 0
        trials = {}
        for parts in (1, 2, 4, 8):
            self.cut(batches, parts)
            self.step()
            trials[parts] = sum(self.step()["seconds"] for _ in range(2))
        self.parts = min(trials, key=trials.get)
        self.cut(batches, self.parts)

    def cut(self, batches, parts):
        self.batches = []
        for pairs in batches:
            size = math.ceil(len(pairs) / parts)
            self.batches.append([part_of(pairs[i:i + size])
                                 for i in range(0, len(pairs), size)])

    def step(self):
        at = self.steps % len(self.batches)
        self.steps += 1
        start = time.monotonic()
        self.optimizer.zero_grad()
        for part in self.batches[at]:
            (self.model(*part) / self.pieces[at]).backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimizer.step()
        return {"seconds": time.monotonic() - start, "tokens": self.tokens[at]}

    def report(self):
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        return {"memory_bytes": peak, "parts": self.parts,
                "name": f"PyTorch {torch.__version__}"}


def main():
    torch.set_num_threads(int(sys.argv[1]))
    bench = Bench(json.loads(sys.stdin.readline()))
    print("{}", flush=True)
    for command in sys.stdin:
        answer = bench.step() if command.strip() == "step" else bench.report()
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
