"""Our model files, for the peers of scripts/bench/decode."""
import json
import struct

import numpy as np
import sentencepiece


def read_file(path):
    with open(path, "rb") as file:
        size, = struct.unpack("<Q", file.read(8))
        header = json.loads(file.read(size))
        body = file.read()
    config = json.loads(header.pop("__metadata__")["config"])
    return {name: (tensor, slice(*tensor["data_offsets"])) for name, tensor in header.items()
            }, body, config


def read_model(path):
    """{name: array} and the configuration of one of our model files."""
    header, body, config = read_file(path)
    return {name: np.frombuffer(body[place], np.float32).reshape(tensor["shape"]).copy()
            for name, (tensor, place) in header.items() if tensor["dtype"] == "F32"}, config


def read_vocabularies(path):
    """The SentencePiece processors of source and target."""
    header, body, _ = read_file(path)
    return tuple(sentencepiece.SentencePieceProcessor(
        model_proto=body[header[f"vocab.{side}" if f"vocab.{side}" in header else "vocab.joint"][1]])
        for side in ("source", "target"))


def positions(config):
    """Vaswani et al. 2017, section 3.5: sines and cosines take turns."""
    d = config["d_model"]
    angle = (np.arange(config["max_positions"])[:, None]
             / 10000 ** (np.arange(0, d, 2) / d))
    table = np.empty((config["max_positions"], d), np.float32)
    table[:, 0::2], table[:, 1::2] = np.sin(angle), np.cos(angle)
    return table
