#!/usr/bin/env python3
"""PyTorch's side of scripts/bench/decode, by Hugging Face's Marian model.

  pytorch_decode.py MODEL PRECISION THREADS < lines of JSON

The lines and answers are those of ctranslate2_decode.py. Sentences are sorted
by length and padded in batches, as its users do. PRECISION is f32, or int8:
torch's dynamic quantisation of the linear layers. Needs torch, transformers and sentencepiece
(PyPI).
"""
import json
import pathlib
import resource
import sys
import time

import torch
import transformers

from model_tensors import positions, read_model, read_vocabularies

BATCH_PIECES = 2048  # with padding


def convert(path):
    """Marian's network with the weights of one of our model files."""
    tensors, config = read_model(path)
    if (config["type"], config["position"], config["norm"]) != ("transformer", "sinusoidal", "post"):
        sys.exit("pytorch_decode: only encoder-decoders with sinusoidal positions, norms after")
    d, heads, ffn = config["d_model"], config["num_heads"], config["ffn_dim"]
    pad = config["target_vocab"]
    model = transformers.MarianMTModel(transformers.MarianConfig(
        vocab_size=pad + 1, decoder_vocab_size=pad + 1, d_model=d, pad_token_id=pad,
        eos_token_id=2, forced_eos_token_id=None, decoder_start_token_id=1, bos_token_id=1,
        max_position_embeddings=config["max_positions"], scale_embedding=True,
        encoder_layers=config["encoder_layers"], decoder_layers=config["decoder_layers"],
        encoder_attention_heads=heads, decoder_attention_heads=heads, encoder_ffn_dim=ffn,
        decoder_ffn_dim=ffn, activation_function=config["activation"], dropout=0.0,
        share_encoder_decoder_embeddings=True, tie_word_embeddings=True)).eval()

    def put(to, *values):
        with torch.no_grad():
            for parameter, value in zip((to.weight, to.bias), values):
                parameter.copy_(torch.from_numpy(value.copy()))

    def attention(to, prefix):
        weights = tensors[prefix + "in_proj_weight"].reshape(3, d, d)
        biases = tensors[prefix + "in_proj_bias"].reshape(3, d)
        for part, linear in enumerate((to.q_proj, to.k_proj, to.v_proj)):
            put(linear, weights[part], biases[part])
        put(to.out_proj, tensors[prefix + "out_proj.weight"], tensors[prefix + "out_proj.bias"])

    def whole(to, name):
        put(to, tensors[name + ".weight"], tensors[name + ".bias"])

    for side, stack in (("encoder", model.model.encoder), ("decoder", model.model.decoder)):
        with torch.no_grad():
            stack.embed_positions.weight.copy_(torch.from_numpy(positions(config)))
        for number, layer in enumerate(stack.layers):
            prefix = f"{side}.layers.{number}."
            attention(layer.self_attn, prefix + "self_attn.")
            whole(layer.self_attn_layer_norm, prefix + "norm1")
            if side == "decoder":
                attention(layer.encoder_attn, prefix + "multihead_attn.")
                whole(layer.encoder_attn_layer_norm, prefix + "norm2")
            whole(layer.fc1, prefix + "linear1")
            whole(layer.fc2, prefix + "linear2")
            whole(layer.final_layer_norm, prefix + ("norm3" if side == "decoder" else "norm2"))
    with torch.no_grad():
        model.model.shared.weight[:pad].copy_(torch.from_numpy(tensors["embedding.weight"].copy()))
        model.model.shared.weight[pad].zero_()
        model.final_logits_bias[0, :pad] = torch.from_numpy(tensors["output.bias"].copy())
        model.final_logits_bias[0, pad] = float("-inf")
    return model, pad


def batches(sources):
    """Numbers of sentences, longest first, at most BATCH_PIECES with padding."""
    order, batch = sorted(range(len(sources)), key=lambda s: -len(sources[s])), []
    for s in order:
        if batch and (len(batch) + 1) * (len(sources[batch[0]]) + 1) > BATCH_PIECES:
            yield batch
            batch = []
        batch.append(s)
    if batch:
        yield batch


def translate(model, pad, sources, request):
    least, most = request["lengths"] or (0, 256)
    found = [None] * len(sources)
    for batch in batches(sources):
        width = len(sources[batch[0]]) + 1
        ids = torch.full((len(batch), width), pad)
        for row, s in enumerate(batch):
            ids[row, :len(sources[s]) + 1] = torch.tensor(sources[s] + [2])
        output = model.generate(
            input_ids=ids, attention_mask=(ids != pad).long(), num_beams=request["beam"],
            do_sample=False, min_new_tokens=least, max_new_tokens=most,
            length_penalty=request["normalize"])
        for row, s in enumerate(batch):
            pieces = output[row, 1:].tolist()
            found[s] = pieces[:pieces.index(2)] if 2 in pieces else [i for i in pieces if i != pad]
    return found


def main():
    path, precision, threads = sys.argv[1], sys.argv[2], int(sys.argv[3])
    torch.set_num_threads(threads)
    transformers.logging.set_verbosity_error()
    model, pad = convert(path)
    if precision == "int8":
        model = torch.ao.quantization.quantize_dynamic(model, {torch.nn.Linear}, torch.qint8)
    source, target = read_vocabularies(path)
    lines = []
    for line in sys.stdin:
        request = json.loads(line)
        if "lines" in request:
            lines = pathlib.Path(request["lines"]).read_text().splitlines()
            answer = {"name": f"PyTorch {torch.__version__}"}
        else:
            start = time.perf_counter()
            with torch.inference_mode():
                ids = translate(model, pad, source.encode(lines, num_threads=threads), request)
            target.decode(ids)
            seconds = time.perf_counter() - start
            answer = {"seconds": seconds, "pieces": sum(map(len, ids)), "ids": ids,
                      "memory_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024}
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
