#!/usr/bin/env python3
"""make_words_model.py N: a SentencePiece model of N pieces, <unk>, <s>, </s>
and the words w3, w4, ..., whose ids are their numbers. The bytes are those of
sentencepiece_model.proto: ModelProto.pieces (1), trainer_spec (2),
normalizer_spec (3)."""
import struct
import sys


def varint(number):
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    return bytes(out + bytes([number]))


def whole(field, number):
    return varint(field << 3) + varint(number)


def message(field, data):
    return varint(field << 3 | 2) + varint(len(data)) + data


def piece(text, score, kind):
    return message(1, message(1, text.encode()) + varint(2 << 3 | 5)
                   + struct.pack("<f", score) + whole(3, kind))


NORMAL, UNKNOWN, CONTROL, WORD = 1, 2, 3, 3
count = int(sys.argv[1])
parts = [piece("<unk>", 0, UNKNOWN), piece("<s>", 0, CONTROL), piece("</s>", 0, CONTROL)]
parts += [piece(f"\u2581w{i}", -i / count, NORMAL) for i in range(3, count)]
parts.append(message(2, whole(3, WORD) + whole(4, count)))
parts.append(message(3, message(1, b"identity") + whole(3, 1) + whole(4, 1) + whole(5, 1)))
sys.stdout.buffer.write(b"".join(parts))
