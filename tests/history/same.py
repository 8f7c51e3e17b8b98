"""Both forms of one snapshot say the same, in types too, and the pickle has no opcode that the unpickler
inside PyTorch's viewer (MemoryViz.js) does not know. same.py JSON PICKLE"""
import json
import pickle
import pickletools
import sys

KNOWN = {
    'APPEND', 'APPENDS', 'BINFLOAT', 'BINGET', 'BININT', 'BININT1', 'BININT2', 'BINPUT', 'BINUNICODE',
    'DICT', 'EMPTY_DICT', 'EMPTY_LIST', 'EMPTY_TUPLE', 'FRAME', 'LIST', 'LONG1', 'LONG_BINGET',
    'LONG_BINPUT', 'MARK', 'MEMOIZE', 'NEWFALSE', 'NEWTRUE', 'NONE', 'PROTO', 'SETITEM', 'SETITEMS',
    'SHORT_BINUNICODE', 'STOP', 'TUPLE', 'TUPLE1', 'TUPLE2', 'TUPLE3'}
BATCH = 1000


def check_opcodes(data):
    since_mark = []
    longest = 0
    for opcode, argument, _ in pickletools.genops(data):
        assert opcode.name in KNOWN, opcode.name
        if opcode.name == 'PROTO':
            assert argument == 4
        if opcode.name == 'MARK':
            since_mark.append(0)
        elif opcode.name in ('APPENDS', 'SETITEMS'):
            since_mark.pop()
        elif opcode.name == 'EMPTY_DICT' and len(since_mark) == 2:
            since_mark[-1] += 1
            longest = max(longest, since_mark[-1])
    assert longest <= BATCH, longest


def compare(plain, pickled, path):
    if isinstance(pickled, tuple):
        assert path.endswith('pool_id'), path
        pickled = list(pickled)
    assert type(plain) is type(pickled), (path, type(plain), type(pickled))
    if isinstance(plain, dict):
        assert list(plain) == list(pickled), path
        for key in plain:
            compare(plain[key], pickled[key], f'{path}.{key}')
    elif isinstance(plain, list):
        assert len(plain) == len(pickled), path
        for i, value in enumerate(plain):
            compare(value, pickled[i], f'{path}[]' if i else f'{path}[0]')
    else:
        assert plain == pickled, (path, plain, pickled)


def main():
    with open(sys.argv[1], encoding='utf-8') as file:
        plain = json.load(file)
    with open(sys.argv[2], 'rb') as file:
        data = file.read()
    check_opcodes(data)
    pickled = pickle.loads(data)
    compare(plain, pickled, 'snapshot')
    events = sum(len(trace) for trace in pickled['device_traces'])
    blocks = sum(len(segment['blocks']) for segment in pickled['segments'])
    assert events > BATCH and blocks > BATCH, (events, blocks)
    assert pickled['allocator_settings']['garbage_collection_threshold'] == 0.8
    print(f'{len(pickled["segments"])} segments, {blocks} blocks, {events} events: the same')


main()
