"""Our model files, for the peers of scripts/bench/decode."""
import json
import struct

import numpy as np


def read_model(path):
    """{name: array} and the configuration of one of our model files."""
    with open(path, "rb") as file:
        size, = struct.unpack("<Q", file.read(8))
        header = json.loads(file.read(size))
        body = file.read()
    config = json.loads(header.pop("__metadata__")["config"])
    tensors = {}
    for name, tensor in header.items():
        if tensor["dtype"] == "F32":
            begin, end = tensor["data_offsets"]
            tensors[name] = np.frombuffer(body[begin:end], np.float32).reshape(
                tensor["shape"]).copy()
    return tensors, config


def positions(config):
    """Vaswani et al. 2017, section 3.5: sines and cosines take turns."""
    d = config["d_model"]
    angle = (np.arange(config["max_positions"])[:, None]
             / 10000 ** (np.arange(0, d, 2) / d))
    table = np.empty((config["max_positions"], d), np.float32)
    table[:, 0::2], table[:, 1::2] = np.sin(angle), np.cos(angle)
    return table
