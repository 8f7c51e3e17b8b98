"""Calls each view of PyTorch's _memory_viz.py on a snapshot. viewer.py READER SNAPSHOT"""
import importlib.util
import pickle
import sys

spec = importlib.util.spec_from_file_location('memory_viz', sys.argv[1])
viz = importlib.util.module_from_spec(spec)
spec.loader.exec_module(viz)

def as_it_is(lines):
    """In place of a drawing, for which the reader fetches a script."""
    return lines


with open(sys.argv[2], 'rb') as file:
    data = pickle.load(file)

views = {
    'segsum': viz.segsum(data),  # checks that blocks add up to their segments
    'trace': viz.trace(data),
    'segments': viz.segments(data, format_flamegraph=as_it_is),
    'memory': viz.memory(data, format_flamegraph=as_it_is),
    'compare': viz.compare(data['segments'], data['segments'][1:], format_flamegraph=as_it_is),
    'trace_plot': viz.trace_plot(data),
    'segment_plot': viz.segment_plot(data),
}
for name, text in views.items():
    assert text, f'{name} shows nothing'

total = sum(segment['total_size'] for segment in data['segments'])
assert f'total_reserved: {viz.Bytes(total)}' in views['segsum']
for part in ('raise OutOfMemoryError', 'free completed for', 'cudaMalloc' if 'cudaMalloc' in views['trace']
             else 'segment_map'):
    assert part in views['trace'], part
assert 'allocate_many' in views['segments'] and 'allocate_many' in views['memory']
assert 'MemoryViz' in views['trace_plot'] and 'MemoryViz' in views['segment_plot']
print(f'{len(views)} views of {len(data["segments"])} segments')
