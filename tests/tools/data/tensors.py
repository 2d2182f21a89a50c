"""Tensor files and frames (formats/README.md) with Python's own library alone,
for cases. A tensor is nested lists; true and false make BOOL, numbers F32 (or
the type asked for); "-Infinity" and "NaN" are numbers."""
import json
import math
import struct

CODES = {'F64': 'd', 'F32': 'f', 'F16': 'e', 'I64': 'q', 'U8': 'B', 'BOOL': '?'}


def shape(nested):
    """The lengths of nested lists, outermost first."""
    lengths = []
    while isinstance(nested, list):
        lengths.append(len(nested))
        nested = nested[0] if nested else None
    return lengths


def flat(nested):
    """All elements in order."""
    if isinstance(nested, list):
        return [x for part in nested for x in flat(part)]
    return [float(nested) if isinstance(nested, str) else nested]


def nest(elements, lengths):
    """The way back."""
    if not lengths:
        return elements[0]
    size = math.prod(lengths[1:])
    return [nest(elements[i * size:(i + 1) * size], lengths[1:])
            for i in range(lengths[0])]


def numbers(*lengths, start=0):
    """Nested lists of numbers without a pattern, in [-1, 1]."""
    count = math.prod(lengths)
    return nest([math.sin(1.7 * (start + i) ** 1.3) for i in range(count)],
                list(lengths))


def attention(width=4, prefix=''):
    """The parameters of a torch.nn.MultiheadAttention."""
    return {prefix + 'in_proj_weight': numbers(3 * width, width),
            prefix + 'in_proj_bias': numbers(3 * width, start=100),
            prefix + 'out_proj.weight': numbers(width, width, start=200),
            prefix + 'out_proj.bias': numbers(width, start=300)}


def tensor_file(tensors, metadata=None, dtypes=None):
    """The bytes of a safetensors file; `dtypes` names those that are not what
    the elements say."""
    header, data = {}, b''
    if metadata:
        header['__metadata__'] = metadata
    for name, nested in tensors.items():
        elements = flat(nested)
        dtype = 'BOOL' if isinstance(elements[0], bool) else 'F32'
        dtype = (dtypes or {}).get(name, dtype)
        code = CODES[dtype]
        if code in 'qB':
            elements = [int(x) for x in elements]
        packed = struct.pack('<%d%s' % (len(elements), code), *elements)
        header[name] = {'dtype': dtype, 'shape': shape(nested),
                        'data_offsets': [len(data), len(data) + len(packed)]}
        data += packed
    text = json.dumps(header).encode()
    return struct.pack('<Q', len(text)) + text + data


def save(path, tensors, metadata=None, dtypes=None):
    with open(path, 'wb') as out:
        out.write(tensor_file(tensors, metadata, dtypes))


def frame(tensors, metadata=None, dtypes=None):
    payload = tensor_file(tensors, metadata, dtypes)
    return b'PFTENSOR' + struct.pack('<IIQ', 1, 0, len(payload)) + payload


def load(payload):
    """(tensors, metadata) of a safetensors file's bytes."""
    size, = struct.unpack('<Q', payload[:8])
    header, data = json.loads(payload[8:8 + size]), payload[8 + size:]
    metadata = header.pop('__metadata__', {})
    tensors = {}
    for name, t in header.items():
        begin, end = t['data_offsets']
        count = math.prod(t['shape'])
        elements = struct.unpack('<%d%s' % (count, CODES[t['dtype']]),
                                 data[begin:end])
        tensors[name] = nest(list(elements), t['shape'])
    return tensors, metadata


def frames(stream):
    """(tensors, metadata) of each frame of a stream's bytes."""
    while stream:
        assert stream[:16] == b'PFTENSOR' + struct.pack('<II', 1, 0)
        length, = struct.unpack('<Q', stream[16:24])
        yield load(stream[24:24 + length])
        stream = stream[24 + length:]


def singles(nested):
    """The elements in single precision, as bytes."""
    elements = flat(nested)
    return struct.pack('<%df' % len(elements), *elements)


def difference(a, b):
    """The largest one between two tensors of one shape."""
    assert shape(a) == shape(b), (shape(a), shape(b))
    return max(abs(x - y) for x, y in zip(flat(a), flat(b)))
