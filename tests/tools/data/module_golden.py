"""Every case of PyTorch's golden values (layers_golden.json) through
inspect-attention --module, as frames of tensors and as JSON-lines: outputs,
weights and gradients. `policy` cases hold the peer's NaN and what is suggested
in its place."""
import json
import math
import os
import subprocess
import sys

from tensors import difference, flat, frame, frames, save, shape, singles

MASKS = ('key_padding_mask', 'attn_mask', 'src_mask', 'src_key_padding_mask',
         'tgt_mask', 'tgt_key_padding_mask', 'memory_mask',
         'memory_key_padding_mask')
SEQUENCES = ('query', 'key', 'value', 'src', 'tgt', 'memory')


def tolerance(case, expected):
    """2e-5; where the values are thousands, seven digits of them."""
    if case['id'] != 'large-logits':
        return 2e-5
    return max(2e-5, 5e-7 * max(abs(float(x)) for x in flat(expected)))


def options(case, need_weights):
    config = case['config']
    heads = config.get('num_heads') or config['nhead']
    words = ['--num-heads', str(heads), '--need-weights', need_weights]
    for key in ('add_zero_attn', 'batch_first', 'norm_first'):
        if config.get(key):
            words.append('--' + key.replace('_', '-'))
    if config.get('activation', 'relu') != 'relu':
        words += ['--activation', config['activation']]
    return words


def run(words, stdin):
    result = subprocess.run(
        ['inspect-attention', '--module', 'w.safetensors'] + words,
        input=stdin, stdout=subprocess.PIPE, check=True)
    return result.stdout


def through_both(words, record):
    """The results of a record, which are the same in both formats."""
    (by_frame, metadata), = frames(run(words, frame(record, {'id': 'x'})))
    assert metadata == {'id': 'x'}, metadata
    line = json.dumps(dict(record, id='x')).encode()
    by_line = json.loads(run(words + ['--from', 'jsonl'], line))
    assert by_line.pop('id') == 'x'
    assert by_line.keys() == by_frame.keys()
    for name, tensor in by_frame.items():
        assert shape(by_line[name]) == shape(tensor)
        assert singles(by_line[name]) == singles(tensor), name
    return by_frame


def expected_of(case, need_weights):
    """What the record has to give, by name."""
    values = case.get('suggested', case)
    expected = {'output': values['output']}
    if case['kind'] == 'mha' and need_weights == 'heads':
        expected['weights'] = values['weights_per_head']
    elif need_weights == 'average' and 'weights' in values:
        if values['weights'] is not None and case['config']['average_attn_weights']:
            expected['weights'] = values['weights']
    if 'policy' not in case:
        for name, gradient in (case.get('grads') or {}).items():
            expected['grad_' + name] = gradient
    return expected


def check(case):
    save('w.safetensors', case['params'])
    record = {name: case[name] for name in SEQUENCES + MASKS
              if case.get(name) is not None}
    largest = 0
    choices = ('heads', 'average', 'none')
    for need_weights in choices if case['kind'] == 'mha' else choices[1:]:
        words = options(case, need_weights)
        if case.get('grads'):
            record['grad_output'] = case['loss_weights']
            words.append('--gradients')
        results = through_both(words, record)
        assert all(math.isfinite(x) for r in results.values() for x in flat(r))
        assert ('weights' in results) == (
            case['kind'] == 'mha' and need_weights != 'none')
        for name, expected in expected_of(case, need_weights).items():
            d = difference(results[name], expected)
            assert d <= tolerance(case, expected), (case['id'], name, d)
            largest = max(largest, d)
    return largest


def main():
    with open(os.path.join(os.environ['DATA'], 'layers_golden.json'),
              encoding='utf-8') as golden:
        cases = json.load(golden)['cases']
    for case in cases:
        d = check(case)
        if '--show' in sys.argv:
            print('%-24s %.1e' % (case['id'], d))
    print(len(cases), 'cases')


main()
