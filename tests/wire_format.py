"""Reads protobuf messages by tables. The table of a message maps the number of each field to (name, kind). A kind in a list means that the field can be repeated.

Kinds: a table; int, "zigzag", str and bytes; "fixed", "signed" and "real" of eight bytes; "Q", "d" and "varints" for packed lists. Fields that are not in the table are errors.
"""
import struct

NUMBER, EIGHT_BYTES, BYTES = 0, 1, 2  # wire types
OF_EIGHT_BYTES = {"fixed": "<Q", "signed": "<q", "real": "<d"}


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7f) << shift
        shift += 7
        if byte < 0x80:
            return value, at


def varints(data):
    at, out = 0, []
    while at < len(data):
        value, at = varint(data, at)
        out.append(value)
    return out


def bytes_value(part, kind):
    if isinstance(kind, dict):
        return message(part, kind)
    if kind is bytes:
        return part
    return part.decode() if kind is str else varints(part) if kind == "varints" else list(struct.unpack(f"<{len(part) // 8}{kind}", part))


def on_the_wire(kind):
    return BYTES if isinstance(kind, dict) else NUMBER if kind in (int, "zigzag") else EIGHT_BYTES if kind in OF_EIGHT_BYTES else BYTES


def message(data, fields):
    out, at = {}, 0
    while at < len(data):
        key, at = varint(data, at)
        name, kind = fields[key >> 3]
        several = isinstance(kind, list)
        kind = kind[0] if several else kind
        assert key & 7 == on_the_wire(kind), (name, key & 7)
        if key & 7 == EIGHT_BYTES:
            value, = struct.unpack_from(OF_EIGHT_BYTES[kind], data, at)
            at += 8
        else:
            value, at = varint(data, at)
        if kind is int:
            value -= 1 << 64 if value >> 63 else 0
        if kind == "zigzag":
            value = value >> 1 ^ -(value & 1)
        if key & 7 == BYTES:
            assert at + value <= len(data), f"{name} is cut"
            part, at = data[at:at + value], at + value
            value = bytes_value(part, kind)
        if several:
            out.setdefault(name, []).append(value)
        else:
            assert name not in out, f"two of {name}"
            out[name] = value
    return out
