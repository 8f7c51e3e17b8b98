#!/usr/bin/env python3
"""Writes corpus/pickle and corpus/snapshot: what the fuzzers of the snapshot readers begin with.

    make_snapshot_corpus.py     (run in tests/fuzz; the files are kept in the tree)
"""
import json
import os
import pickle
import pickletools

FRAMES = [{"filename": "step.py", "line": 7, "name": "step"}, {"filename": "??", "line": 0, "name": "main"}]


def entry(action, addr, size, stream=0, **more):
    return {"action": action, "addr": addr, "size": size, "stream": stream, "time_us": 17, "pool_id": (0, 0),
            "compile_context": "N/A", "user_metadata": "", "frames": FRAMES, **more}


def block(address, size, state, requested):
    return {"address": address, "size": size, "requested_size": requested, "state": state, "frames": FRAMES}


SNAPSHOT = {
    "segments": [
        {"device": 0, "address": 0x7F0000000000, "total_size": 2097152, "allocated_size": 1024,
         "active_size": 1536, "requested_size": 1200, "stream": 0, "segment_type": "small",
         "segment_pool_id": (0, 0), "is_expandable": False, "frames": [], "blocks": [
             block(0x7F0000000000, 1024, "active_allocated", 1000),
             block(0x7F0000000400, 512, "active_pending_free", 200),
             block(0x7F0000000600, 2095616, "inactive", 0)]},
        {"device": 0, "address": 0x7F1000000000, "total_size": 20971520, "stream": 3, "segment_type": "large",
         "segment_pool_id": (1, 2), "is_expandable": True, "frames": FRAMES, "blocks": [
             block(0x7F1000000000, 20971520, "active_allocated", 20000000)]}],
    "device_traces": [[
        entry("segment_map", 0x7F1000000000, 20971520, 3),
        entry("alloc", 0x7F1000000000, 20000000, 3),
        entry("alloc", 0x7F0000000600, 4000),
        entry("free_requested", 0x7F0000000600, 4000),
        entry("free_requested", 0x7F0000000400, 200),
        entry("free_completed", 0x7F0000000600, 4000),
        {"action": "oom", "device_free": 5, "size": 1 << 40, "stream": 0, "time_us": 18, "frames": []},
        entry("annotate", 0, 0), entry("snapshot", 0, 1536)], []],
    "allocator_settings": {"PYTORCH_CUDA_ALLOC_CONF": "", "max_split_size": -1, "expandable_segments": True,
                           "garbage_collection_threshold": 0.5, "roundup_power2_divisions": {"1": 0}},
    "accel": {"version": 1, "devices": ["cpu:0", "cpu:1"], "events": [9, 0], "events_lost": [3, 0], "overflow": True},
    "external_annotations": [{"stage": "START", "name": "step", "device": 0, "time_us": 16}],
}
OLD = [{"device": 0, "address": 4096, "total_size": 1024, "blocks": [
    {"size": 512, "state": "active_allocated", "history": [{"addr": 4096, "real_size": 300, "frames": FRAMES}]},
    {"size": 512, "state": "active_awaiting_free"}]}]
VALUES = {"none": None, "yes": True, "no": False, "big": 1 << 70, "low": -(1 << 63), "real": 0.1,
          "text": "\u00e9\u6f22\U0001f600\n'\"\\", "long": "x" * 300, "tuples": [(), (1,), (1, 2), (1, 2, 3), (1, 2, 3, 4)],
          "nested": [[[{}]]], "numbers": [0, 255, 256, 65535, 65536, -1, 1 << 31, 1 << 40, -(1 << 40)]}
LOOP = []
LOOP.append(LOOP)
BOMB = ["x"]
for _ in range(20):
    BOMB = [BOMB] * 10

RAW = {
    "global": b"\x80\x02cos\nsystem\nX\x04\x00\x00\x00echo\x85R.",
    "stack_global": b"\x80\x04\x8c\x02os\x8c\x06system\x93\x8c\x04echo\x85R.",
    "inst": b"(S'echo'\nios\nsystem\n.", "obj": b"(cos\nsystem\nS'echo'\no.",
    "newobj": b"\x80\x02]]\x81.", "ext": b"\x80\x02\x82\x01.", "persid": b"Pabc\n.", "build": b"]}b.",
    "huge_memo": b"\x80\x02]r\xff\xff\xff\xff.", "huge_text": b"\x80\x04X\xff\xff\xff\xffabc.",
    "huge_frame": b"\x80\x04\x95\xff\xff\xff\xff\xff\xff\xff\xff].",
    "marks": b"((((((((1111((lltd0.", "dup": b"]2222aaaa.", "odd_dict": b"(S'a'\nd.",
    "quoted": b"S'a\\x41\\'\\n\\\\'\n.", "unicode": b"V\\u00e9\\U0001f600\n.", "int": b"(I01\nI00\nI-7\nL12L\nF1.5\nl.",
}


def write(folder, name, data):
    with open(os.path.join("corpus", folder, name), "wb") as file:
        file.write(data)


for protocol in range(6):
    write("snapshot", f"protocol{protocol}", pickle.dumps(SNAPSHOT, protocol))
    write("pickle", f"values{protocol}", pickle.dumps(VALUES, protocol))
write("snapshot", "optimized", pickletools.optimize(pickle.dumps(SNAPSHOT, 4)))
write("snapshot", "json", json.dumps(SNAPSHOT).encode())
write("snapshot", "no_events", json.dumps({**SNAPSHOT, "device_traces": [[], []]}).encode())
write("snapshot", "old", pickle.dumps(OLD, 4))
write("snapshot", "old_json", json.dumps(OLD).encode())
write("snapshot", "shared_segments", pickle.dumps({"segments": [SNAPSHOT["segments"][0]] * 50}, 4))
write("pickle", "bytes", pickle.dumps([b"abc", b"x" * 300, bytearray(b"abc")], 5))
write("pickle", "loop", pickle.dumps(LOOP, 4))
write("pickle", "bomb", pickle.dumps(BOMB, 4))
for name, data in RAW.items():
    write("pickle", name, data)
