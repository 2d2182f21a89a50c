#!/usr/bin/env python3
"""CTranslate2's side of scripts/bench/decode: translates what it is given by a
model of ours and says how long it took.

  ctranslate2_decode.py MODEL PRECISION THREADS < lines of JSON

A line is {"lines": FILE}, which is kept, or {"beam": N, "normalize": A,
"lengths": [least, most] or null}, which translates them from text to text; each
is answered by a line of JSON. Needs ctranslate2, sentencepiece and numpy (PyPI).
"""
import json
import pathlib
import resource
import sys
import tempfile
import time

import ctranslate2
from ctranslate2.specs import common_spec, transformer_spec

from model_tensors import positions, read_model, read_vocabularies

# Source pieces of a batch. Of 256, 1,024 and 4,096 none was clearly the fastest
# on a tiny model; 1,024 was somewhat slower in eight bits.
BATCH_PIECES = 4096


class Converter:
    """Fills CTranslate2's specification."""

    def __init__(self, tensors, config):
        if (config["type"], config["position"], config["activation"]) != (
                "transformer", "sinusoidal", "relu"):
            sys.exit("ctranslate2_decode: only encoder-decoders with sinusoidal positions and relu")
        self.tensors, self.config = tensors, config
        self.spec = transformer_spec.TransformerSpec.from_config(
            (config["encoder_layers"], config["decoder_layers"]), config["num_heads"],
            pre_norm=config["norm"] == "pre", activation=common_spec.Activation.RELU)
        tied = "embedding.weight" in tensors
        for side, stack in (("source", self.spec.encoder), ("target", self.spec.decoder)):
            embeddings = stack.embeddings[0] if side == "source" else stack.embeddings
            embeddings.weight = tensors["embedding.weight" if tied else f"{side}_embedding.weight"]
            stack.position_encodings.encodings = positions(config)
        self.spec.decoder.projection.weight = tensors[
            "embedding.weight" if tied else "output.weight"]
        self.spec.decoder.projection.bias = tensors["output.bias"]
        for name, stack in (("encoder", self.spec.encoder), ("decoder", self.spec.decoder)):
            if config["norm"] == "pre":
                self.norm(stack.layer_norm, f"{name}.norm")
            for number, layer in enumerate(stack.layer):
                self.layer(layer, f"{name}.layers.{number}.", decodes=name == "decoder")

    def norm(self, spec, name):
        spec.gamma, spec.beta = self.tensors[name + ".weight"], self.tensors[name + ".bias"]

    def linear(self, spec, weight, bias, rows=slice(None)):
        spec.weight, spec.bias = self.tensors[weight][rows], self.tensors[bias][rows]

    def layer(self, layer, prefix, decodes):
        d = self.config["d_model"]
        attention = prefix + "self_attn."
        self.linear(layer.self_attention.linear[0], attention + "in_proj_weight",
                    attention + "in_proj_bias")
        self.linear(layer.self_attention.linear[1], attention + "out_proj.weight",
                    attention + "out_proj.bias")
        self.norm(layer.self_attention.layer_norm, prefix + "norm1")
        if decodes:
            attention = prefix + "multihead_attn."
            for part, rows in enumerate((slice(0, d), slice(d, 3 * d))):
                self.linear(layer.attention.linear[part], attention + "in_proj_weight",
                            attention + "in_proj_bias", rows)
            self.linear(layer.attention.linear[2], attention + "out_proj.weight",
                        attention + "out_proj.bias")
            self.norm(layer.attention.layer_norm, prefix + "norm2")
        self.linear(layer.ffn.linear_0, prefix + "linear1.weight", prefix + "linear1.bias")
        self.linear(layer.ffn.linear_1, prefix + "linear2.weight", prefix + "linear2.bias")
        self.norm(layer.ffn.layer_norm, prefix + ("norm3" if decodes else "norm2"))


def convert(path, folder, precision, source, target):
    """Writes CTranslate2's model, whose tokens are the vocabularies' pieces."""
    spec = Converter(*read_model(path)).spec
    for register, side in ((spec.register_source_vocabulary, source),
                           (spec.register_target_vocabulary, target)):
        register([side.id_to_piece(i) for i in range(len(side))])
    spec.config.add_source_eos = True
    spec.validate()
    spec.optimize(quantization="int8" if precision == "int8" else None)
    spec.save(folder)


def peak_memory():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def main():
    path, precision, threads = sys.argv[1], sys.argv[2], int(sys.argv[3])
    with tempfile.TemporaryDirectory(prefix="pipeformer-bench-") as folder:
        source, target = read_vocabularies(path)
        convert(path, folder, precision, source, target)
        translator = ctranslate2.Translator(
            folder, device="cpu", inter_threads=threads, intra_threads=1,
            compute_type="int8" if precision == "int8" else "float32")
        lines = []
        for line in sys.stdin:
            request = json.loads(line)
            if "lines" in request:
                lines = pathlib.Path(request["lines"]).read_text().splitlines()
                answer = {"name": f"CTranslate2 {ctranslate2.__version__}"}
            else:
                least, most = request["lengths"] or (0, 256)
                start = time.perf_counter()
                results = translator.translate_batch(
                    source.encode(lines, out_type=str, num_threads=threads), beam_size=request["beam"], length_penalty=request["normalize"],
                    min_decoding_length=least, max_decoding_length=most,
                    max_batch_size=BATCH_PIECES, batch_type="tokens")
                pieces = [result.hypotheses[0] for result in results]
                target.decode(pieces)
                seconds = time.perf_counter() - start
                ids = [target.piece_to_id(line) for line in pieces]
                answer = {"seconds": seconds, "pieces": sum(map(len, ids)), "ids": ids,
                          "memory_bytes": peak_memory()}
            print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
