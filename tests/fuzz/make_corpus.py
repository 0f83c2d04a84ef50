#!/usr/bin/env python3
"""Writes the binary seeds of the fuzz targets into corpus/ (the textual ones were written by hand). usage: make_corpus.py"""
import gzip
import json
import struct
import zlib
from pathlib import Path

CORPUS = Path(__file__).parent / "corpus"
UID, OTHER = (1, 2), (3, 4)


def put(target, name, data):
    (CORPUS / target).mkdir(parents=True, exist_ok=True)
    (CORPUS / target / name).write_bytes(data)


def u8(value):
    return struct.pack("<B", value)


def u16(value):
    return struct.pack("<H", value)


def u32(value):
    return struct.pack("<I", value & 0xFFFFFFFF)


def u64(value):
    return struct.pack("<Q", value & 0xFFFFFFFFFFFFFFFF)


def uid(value):
    return u64(value[0]) + u64(value[1])


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


# ---- worker/launcher: wire.h, protocol.h, journal.h, spool.h ----

def text(value):
    data = value.encode()
    return u32(len(data)) + data


def many(values):
    return u32(len(values)) + b"".join(values)


def frame(kind, payload=b""):
    return u32(len(payload) + 1) + u8(kind) + payload


def rank_exit(rank, code, signal=0, tail="", message=""):
    return (u32(rank) + u32(1234) + u32(code) + u32(signal) + u8(0) + u64(1000) + u64(2000) + u64(30) + u64(len(tail)) + u64(0)
            + text(tail) + text(message))


def exit_record(why, ranks, message=""):
    return (uid(UID) + u32(1) + u8(why) + u8(0) + text(message) + u32(1) + u64(1500) + u8(0) + u64(1 << 20) + many(ranks)
            + u64(2000))


FAILED = exit_record(1, [rank_exit(0, -1, 15, "stopped\n"), rank_exit(1, 1, 0, "Traceback: it broke\n" * 4, "it broke")],
                     "rank 1 exited with code 1")


def state(phase, record=exit_record(0, [])):
    return frame(65, uid(UID) + u32(1) + u8(phase) + text("127.0.0.1") + u16(29500) + u16(0) + u8(0) + record)


def launcher_protocol():
    start = (uid(UID) + u64(42) + u32(0) + u8(0) + u32(1) + u32(1) + u32(0) + u32(2) + u32(0) + u32(1)
             + many([many([text("GPU-0")]), many([])]) + many([text("python3"), text("{spec}")])
             + many([text("A") + text("1"), text("B") + text("")]) + text("/work") + text('{"model":{}}') + u8(1) + u8(1) + u8(0)
             + text("10.0.0.1") + u64(1 << 30) + u64(60000) + u64(30000) + u64(300) + u64(0))
    go = uid(UID) + u32(2) + text("10.0.0.1") + u16(29500) + u32(0) + u32(4)
    said = uid(UID) + u32(1) + text('{"type":"progress","step":3}')
    worker = [frame(1, u32(1)), frame(2, start), frame(3, go), frame(4, uid(UID) + u64(30000) + u8(1)), frame(5, uid(UID)),
              frame(6, uid(UID) + u64(5000)), frame(7, u64(4096)), frame(8, uid(UID) + u32(0xFFFFFFFF) + text('{"type":"stop"}'))]
    launcher = [frame(64, u32(1) + uid(OTHER) + text("boot") + text("cgroup+memory") + text("/var/spool")),
                state(3), state(5, FAILED), frame(67, said), frame(68, u64(8192)), frame(66)]
    put("launcher_protocol", "worker", u8(5) + b"".join(worker))
    put("launcher_protocol", "launcher", u8(100) + b"".join(launcher))
    put("launcher_protocol", "unknown", u8(0) + frame(200, b"later") + frame(1, u32(1) + b"a later field") + frame(3, go)[:20])
    put("launcher_state", "running", u16(100) + state(3) + state(2))
    put("launcher_state", "failed", u16(200) + state(5, FAILED))
    put("launcher_state", "extremes", u16(0) + state(5, exit_record(6, [rank_exit(-1, -1, -1, "t" * 300, "m" * 200)] * 3, "n" * 100)))


def record(kind, *fields):
    body = u8(kind) + b"".join(fields)
    return u32(len(body)) + u32(zlib.crc32(body)) + body


def launcher_journal():
    def started(who):
        return record(1, uid(who), text("boot"), u32(1), u32(0), u32(2), u64(1000))
    keeper = record(2, uid(UID), u32(77), u64(99))
    put("launcher_journal", "running", started(UID) + keeper + started(OTHER) + bytes(32))
    put("launcher_journal", "ended", started(UID) + started(OTHER) + record(3, FAILED) + record(4, uid(OTHER)) + bytes(32))
    put("launcher_journal", "forgotten", started(UID) + record(4, uid(UID)) + keeper + record(3, FAILED) + started(UID)[:-5])
    put("launcher_journal", "later_kind", started(UID) + record(9, uid(UID)) + started(OTHER))
    put("launcher_journal", "short_keeper", started(OTHER) + started(UID) + record(2, uid(UID), u32(77)))


def spool_frame(who, rank, stream, offset, data, kind=0):
    header = u32(0x50535447) + u32(len(data)) + uid(who) + u32(rank) + u8(stream) + u8(kind) + u16(0) + u64(offset)
    return header + u32(zlib.crc32(header)) + u32(0) + data


def spool():
    first = spool_frame(UID, 0, 1, 0, b"hello\n") + spool_frame(UID, 1, 2, 0, b"oh\n") + spool_frame(UID, 0, 1, 6, b"again\n")
    second = spool_frame(OTHER, 0, 1, 0, b"x" * 100) + spool_frame(UID, 0, 1, 12, b"[cut]", 1) + spool_frame(UID, 0, 1, 17, b"")
    put("spool", "one", u16(0) + u8(0) + first)
    put("spool", "two", u16(len(first)) + u8(1) + first + second)
    put("spool", "far_offset", u16(0) + u8(0) + first + spool_frame(UID, 0, 1, (1 << 63) - 1, b"far\n"))
    put("spool", "no_stream", u16(0) + u8(0) + first + spool_frame(UID, 0, 7, 0, b"nowhere\n"))
    header = u32(0x50535447) + u32(0x84000064) + first[8:40]
    put("spool", "huge_payload", u16(0) + u8(0) + header + u32(zlib.crc32(header)) + u32(0) + b"x" * 100)
    put("spool", "torn", u16(len(first) - 3) + u8(0) + first[:-3] + second[:-50])


# ---- coordinator/logs: frame.h, segment.h ----

def log_frame(who, rank, stream, kind, offset, arrival, data, time=1000):
    head = (u32(crc32c(data)) + u32(len(data)) + uid(who) + u64(offset) + u64(time) + u64(arrival) + u32(rank) + u8(stream)
            + u8(kind) + u16(0))
    return b"GTL1" + u32(crc32c(head)) + head + data


def log_index(segment, entries):
    rest = u64(len(entries)) + u64(len(segment)) + u64(5000) + u64(9) + b"".join(uid(who) + u64(at) for who, at in sorted(entries))
    return b"GTX1" + u32(crc32c(rest)) + rest


def logs():
    frames = [log_frame(UID, 0, 1, 0, 0, 1, b"hello\n"), log_frame(OTHER, 0, 1, 0, 0, 2, b"other\n"),
              log_frame(UID, 1, 2, 0, 0, 3, b"oh\nno\n"), log_frame(UID, 0, 1, 1, 16, 4, b"[10 bytes are missing here]"),
              log_frame(UID, 0, 1, 0, 16, 5, b"on\n")]
    at = [sum(len(f) for f in frames[:i]) for i in range(len(frames) + 1)]
    first = b"".join(frames)
    index = log_index(first, [(UID, at[0]), (OTHER, at[1]), (UID, at[2]), (UID, at[3]), (UID, at[4])])
    second = log_frame(OTHER, 0, 0, 2, 0, 6, b"") + log_frame(UID, 1, 2, 0, 6, 7, b"last small\n")
    own = b"".join(log_frame(UID, 0, 1, 0, 19 + 40 * i, 8 + i, b"%039d\n" % i) for i in range(5))
    put("log_frame", "whole", u8(0) + first)
    put("log_frame", "fixed", u8(1) + first + second)
    put("log_frame", "torn", u8(0) + first[:-2])
    put("log_index", "good", u8(0) + u16(len(first)) + first + index)
    put("log_index", "missing", u8(0) + u16(len(first)) + first)
    put("log_index", "fixed", u8(1) + u16(len(first)) + first + index[:-24])
    put("log_index", "huge_count", u8(1) + u16(len(first)) + first + b"GTX1" + u32(0) + u64(1 << 61) + bytes(24))
    put("log_index", "bad_position", u8(1) + u16(len(first)) + first + log_index(first, [(UID, 1 << 63), (OTHER, 1 << 40)]))
    sizes = [len(first), len(index), len(second)]
    put("log_store", "all", u8(0) + b"".join(map(u16, sizes)) + first + index + second + own)
    put("log_store", "no_index", u8(1) + u16(len(first)) + u16(0) + u16(len(second)) + first + second + own)
    put("log_store", "small_only", u8(3) + u16(len(second)) + u16(0) + u16(len(first)) + second + first)
    put("log_store", "own_only", u8(0) + bytes(6) + own[:-4])
    put("log_store", "bad_position", u8(2) + u16(len(first)) + u16(88) + u16(0) + first
        + log_index(first, [(UID, 1 << 63), (UID, 1 << 40)]))


def log_append():
    def append(which, size, how=0, times=1):
        return u8(0) + u8(0) + u8(which) + u8(how) + u8(size) + u8(times)
    read, tail = u8(180) + u8(0) + u8(0) + u16(20), u8(200) + u8(0) + u8(2)
    put("log_append", "streams", append(0, 50) + append(1, 20) + append(0, 50) + append(3, 9) + read + tail)
    put("log_append", "gaps", append(0, 50) + append(0, 30, 170) + append(0, 40, 230) + u8(225) + append(0, 60) + tail + read)
    put("log_append", "large", append(0, 250) + append(0, 200, 0, 77) + append(4, 250, 0, 77) + u8(225) + append(0, 100) + tail)
    put("log_append", "kept", append(0, 90) * 8 + append(3, 90) * 3 + u8(240) + append(0, 90) + u8(250) + u8(0) + append(0, 9))
    put("log_append", "far", append(0, 9) + u8(0) + u8(0) + u8(0) + u8(255) + u64(1 << 60) + u8(7) + u8(1) + append(0, 5) + read)


# ---- coordinator/store: pack.h ----

def packed(kind, *fields):
    return u8(kind) + b"".join(fields)


def pack():
    put("pack", "strings", packed(0, text("GPU-0"), text(""), text("GPU-1")))
    put("pack", "times", packed(1, u64(1000), u64(-1)))
    put("pack", "progress", packed(2, u64(3), u64(10), u64(192), u64(1000), text("train"), text("loss"), struct.pack("<d", 0.5)))
    put("pack", "inventory", packed(3, u64(8), u64(1 << 34), text("10.0.0.1"), text("cgroup"), u64(1), text("GPU-0"), text("a100"),
                                    u64(1 << 36), u64(2), text("rack"), text("3"), text("zone"), text("")))
    put("pack", "lines", packed(4, u64(7 << 32 | 1), text("PLACED"), text("node-1"), text("on node-1"), u64(0), text("ENDED"),
                                text(""), text("")))
    put("pack", "uid", packed(5, uid(UID)))


# ---- cli: answers of a coordinator, HTTP/2 and protobuf by hand ----

def varint(value):
    out = b""
    while value > 127:
        out += u8(value & 127 | 128)
        value >>= 7
    return out + u8(value)


def number(field, value):
    return varint(field << 3) + varint(value)


def piece(field, data):
    data = data.encode() if isinstance(data, str) else data
    return varint(field << 3 | 2) + varint(len(data)) + data


def double(field, value):
    return varint(field << 3 | 1) + struct.pack("<d", value)


def http2(kind, flags, stream, payload=b""):
    return struct.pack(">I", len(payload))[1:] + u8(kind) + u8(flags) + struct.pack(">I", stream) + payload


def header(name, value):
    return b"\x00" + u8(len(name)) + name.encode() + u8(len(value)) + value.encode()


def grpc_answer():
    settings = http2(4, 0, 0) + http2(4, 1, 0)
    head = http2(1, 4, 1, b"\x88" + header("content-type", "application/grpc"))
    message = http2(0, 0, 1, b"\0" + struct.pack(">I", 5) + b"hello")
    good = http2(1, 5, 1, header("grpc-status", "0"))
    bad = http2(1, 5, 1, b"\x88" + header("grpc-status", "5") + header("grpc-message", "no job 42%0Ais%20here %1b[31m"))
    put("grpc_answer", "two_messages", settings + head + message + message + good)
    put("grpc_answer", "refused", settings + bad)
    put("grpc_answer", "going_away", settings + http2(7, 0, 0, u32(0) + u32(0)) + http2(6, 0, 0, bytes(8)))
    put("grpc_answer", "reset", settings + head + message[:-3] + http2(3, 0, 1, u32(0x08000000)))
    put("grpc_answer", "compressed", settings + head + http2(0, 0, 1, b"\1\0\0\0\1x") + good)
    put("grpc_answer", "http1", b"HTTP/1.1 400 Bad Request\r\n\r\n")


def cli_render():
    progress = number(1, 3) + number(2, 10) + number(3, 192) + piece(4, "train") + piece(5, piece(1, "loss") + double(2, 0.5))
    summary = (number(1, 42) + piece(2, "mnist") + piece(3, "ada") + number(4, 2) + number(5, 3) + piece(6, "exit 1 \x1b[31m")
               + number(8, 2) + number(10, 50) + number(11, 1_699_999_000_000) + number(12, 1_699_999_100_000) + number(14, 1)
               + piece(23, progress) + number(24, 1) + piece(25, "node-1"))
    array = number(1, 43) + number(4, 2) + number(15, 1) + number(16, 8) + number(17, 2) + number(18, 3) + number(19, 2) + number(20, 1)
    rank = number(1, 1) + number(2, 1) + number(5, 1000) + piece(9, "Traceback\n") + piece(10, "it broke")
    member = piece(1, "node-1") + number(2, 0) + number(3, 4) + piece(4, "GPU-0") + piece(5, rank)
    failed = number(1, 1) + piece(2, "node-1") + number(3, 1) + piece(5, "it broke") + piece(6, "last line\r\u202e")
    attempt = (piece(1, varint(9) + u64(1) + varint(17) + u64(2)) + number(2, 1) + number(3, 4) + number(4, 1) + number(5, 1000)
               + number(8, 3) + piece(9, "rank 1 failed") + piece(11, member) + piece(12, failed) + piece(13, "10.0.0.1:29500"))
    task = number(1, 0) + number(2, 4) + number(3, 3) + piece(4, "failed") + piece(5, attempt)
    spec = piece(1, "mnist")
    put("cli_render", "job", u8(0) + summary)
    put("cli_render", "array", u8(0) + array)
    put("cli_render", "detail", u8(1) + piece(1, summary) + piece(2, spec) + piece(3, task))

    def chunk(rank, stream, offset, data):
        return piece(1, piece(1, varint(9) + u64(1) + varint(17) + u64(2)) + number(2, 1) + number(3, rank) + number(4, stream)
                     + number(5, offset) + piece(6, data) + number(7, 1_699_999_000_000) + piece(10, "node-1"))
    put("cli_render", "log", u8(2) + chunk(0, 1, 0, "hello\nwor") + chunk(1, 2, 0, b"\xff\x00\n") + chunk(0, 1, 4, "o\nworld\n"))


# ---- worker/trainer ----

def idx(*sizes, values):
    return b"\0\0\x08" + u8(len(sizes)) + b"".join(struct.pack(">I", size) for size in sizes) + bytes(values)


def npy(kind, shape, data):
    header = "{'descr': '%s', 'fortran_order': False, 'shape': %s, }" % (kind, shape)
    header += " " * (63 - (10 + len(header)) % 64) + "\n"
    return b"\x93NUMPY\x01\0" + struct.pack("<H", len(header)) + header.encode() + data


def trainer():
    images = idx(12, 2, 3, values=[i * 3 % 256 for i in range(72)])
    labels = idx(12, values=[i % 10 for i in range(12)])
    packed_images, packed_labels = (gzip.compress(data, mtime=0) for data in (images, labels))
    put("idx", "plain", u16(len(images)) + images + labels)
    put("idx", "gzip", u16(len(packed_images)) + packed_images + packed_labels)
    put("idx", "huge", u16(16) + b"\0\0\x08\3" + b"\xff" * 12 + labels)
    put("token_file", "plain", npy("<u2", "(5,)", struct.pack("<5H", 1, 2, 3, 4, 5)))
    put("token_file", "wide", npy("<i8", "(2,)", struct.pack("<2q", 7, 999)))

    def tensors(header, data):
        raw = json.dumps(header).encode()
        raw += b" " * (-len(raw) % 8)
        return u64(len(raw)) + raw + data

    def tensor(shape, begin, end):
        return {"dtype": "F32", "shape": shape, "data_offsets": [begin, end]}
    data = struct.pack("<8f", *range(8))
    put("safetensors", "two", tensors({"fc.weight": tensor([2, 3], 0, 24), "fc.bias": tensor([2], 24, 32)}, data))
    put("safetensors", "scalar", tensors({"__metadata__": {"by": "hand"}, "a": tensor([], 0, 4), "b": tensor([0, 5], 4, 4)}, data[:4]))
    put("safetensors", "overlap", tensors({"a": tensor([4], 0, 16), "b": tensor([4], 0, 16)}, data))
    put("safetensors", "many_of_the_same", tensors({f"t{i}": tensor([8], 0, 32) for i in range(20)}, data))
    put("safetensors", "empty", tensors({}, b""))


for make in (launcher_protocol, launcher_journal, spool, logs, log_append, pack, grpc_answer, cli_render, trainer):
    make()
