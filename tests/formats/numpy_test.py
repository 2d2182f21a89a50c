"""NumPy reads what write_samples wrote, and finds the right values.

Needs Debian's python3-numpy.
"""

import io
import json
import struct
import sys

import numpy as np

DTYPES = {'F64': '<f8', 'F32': '<f4', 'I64': '<i8', 'I32': '<i4', 'U8': '|u1'}


def read_safetensors(data):
    length, = struct.unpack_from('<Q', data)
    header = json.loads(data[8:8 + length].decode('utf-8'))
    assert (8 + length) % 64 == 0, 'data begin at %d' % (8 + length)
    metadata = header.pop('__metadata__', {})
    tensors = {}
    for name, entry in header.items():
        begin, end = (8 + length + offset for offset in entry['data_offsets'])
        array = np.frombuffer(data[begin:end], DTYPES[entry['dtype']])
        tensors[name] = array.reshape(entry['shape'])
    return tensors, metadata


def read_stream(data):
    while data:
        magic, version, zero, length = struct.unpack_from('<8sIIQ', data)
        assert (magic, version, zero) == (b'PFTENSOR', 1, 0)
        yield read_safetensors(data[24:24 + length])
        assert len(data) >= 24 + length
        data = data[24 + length:]


def check(tensors, name, dtype, shape, first=0):
    array = tensors[name]
    assert array.dtype == np.dtype(dtype), (name, array.dtype)
    assert array.shape == shape, (name, array.shape)
    wanted = np.arange(first, first + array.size, dtype=dtype).reshape(shape)
    assert (array == wanted).all(), (name, array)


def check_all(tensors):
    check(tensors, 'f64', '<f8', (2, 3))
    check(tensors, 'i64', '<i8', (3,))
    check(tensors, 'layer.0/f32', '<f4', (2, 3, 4))
    check(tensors, 'i32', '<i4', (4, 1))
    check(tensors, 'empty', '<f4', (0, 3))
    check(tensors, 'scalar', '<f4', (), first=7)
    check(tensors, 'u8.\u00e9', '|u1', (5,))
    assert len(tensors) == 7, sorted(tensors)


def read(path):
    with open(path, 'rb') as file:
        return file.read()


def main(folder):
    tensors, metadata = read_safetensors(read(folder + '/sample.safetensors'))
    check_all(tensors)
    assert metadata == {'format': 'sample', 'quoted': 'a "b" \u00e9\n'}

    check_all(dict(np.load(folder + '/sample.npz', allow_pickle=False)))

    data = read(folder + '/sample.npy')
    array = np.load(io.BytesIO(data), allow_pickle=False)
    check({'a': array}, 'a', '<f4', (2, 3, 4))
    own = io.BytesIO()
    np.save(own, array)
    assert own.getvalue() == data, 'numpy.save writes other bytes'

    frames = list(read_stream(read(folder + '/sample.stream')))
    assert [metadata['id'] for _, metadata in frames] == ['first', 'second']
    check_all(frames[0][0])
    check(frames[1][0], 'f32', '<f4', (2, 3, 4))


if __name__ == '__main__':
    main(sys.argv[1])
