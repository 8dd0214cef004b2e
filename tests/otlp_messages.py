"""Reads what --otlp pushes, by the numbers that OTLP's interface gives its fields. What it does not have is an error: an unknown field, a value of another kind."""
import struct

NUMBER, EIGHT_BYTES, BYTES = 0, 1, 2  # kinds of values on the wire
KINDS = {"number": NUMBER, "fixed": EIGHT_BYTES, "signed": EIGHT_BYTES, "real": EIGHT_BYTES}

# From opentelemetry/proto/{collector,common,resource,metrics,logs}/v1/*.proto. A message is the table of its fields; a list: there may be several.
VALUE = {1: ("string", "text"), 3: ("int", "number")}
ATTRIBUTE = {1: ("key", "text"), 2: ("value", VALUE)}
SCOPE = {1: ("name", "text"), 2: ("version", "text")}
RESOURCE = {1: ("attributes", [ATTRIBUTE])}
NUMBER_POINT = {2: ("start", "fixed"), 3: ("time", "fixed"), 4: ("real", "real"), 6: ("int", "signed"), 7: ("attributes", [ATTRIBUTE])}
HISTOGRAM_POINT = {2: ("start", "fixed"), 3: ("time", "fixed"), 4: ("count", "fixed"), 5: ("sum", "real"), 6: ("counts", "Q"), 7: ("bounds", "d"), 9: ("attributes", [ATTRIBUTE])}
METRIC = {1: ("name", "text"), 2: ("description", "text"), 3: ("unit", "text"), 5: ("gauge", {1: ("points", [NUMBER_POINT])}),
          7: ("sum", {1: ("points", [NUMBER_POINT]), 2: ("temporality", "number"), 3: ("monotonic", "number")}),
          9: ("histogram", {1: ("points", [HISTOGRAM_POINT]), 2: ("temporality", "number")})}
METRICS = {1: ("all", [{1: ("resource", RESOURCE), 2: ("scopes", [{1: ("scope", SCOPE), 2: ("items", [METRIC])}])}])}
RECORD = {1: ("time", "fixed"), 2: ("severity", "number"), 3: ("severity_text", "text"), 5: ("body", VALUE), 6: ("attributes", [ATTRIBUTE]), 11: ("observed", "fixed")}
LOGS = {1: ("all", [{1: ("resource", RESOURCE), 2: ("scopes", [{1: ("scope", SCOPE), 2: ("items", [RECORD])}])}])}


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7f) << shift
        shift += 7
        if byte < 0x80:
            return value, at


def message(data, fields):
    out, at = {}, 0
    while at < len(data):
        key, at = varint(data, at)
        name, kind = fields[key >> 3]
        several = isinstance(kind, list)
        kind = kind[0] if several else kind
        assert key & 7 == (BYTES if isinstance(kind, dict) else KINDS.get(kind, BYTES)), (name, key & 7)
        if key & 7 == EIGHT_BYTES:
            value, = struct.unpack_from({"fixed": "<Q", "signed": "<q", "real": "<d"}[kind], data, at)
            at += 8
        else:
            value, at = varint(data, at)
        if key & 7 == BYTES:
            assert at + value <= len(data), f"{name} is cut"
            part, at = data[at:at + value], at + value
            value = part.decode() if kind == "text" else message(part, kind) if isinstance(kind, dict) else list(struct.unpack(f"<{len(part) // 8}{kind}", part))
        if several:
            out.setdefault(name, []).append(value)
        else:
            assert name not in out, f"two of {name}"
            out[name] = value
    return out


def labels(item):
    return {one["key"]: next(iter(one["value"].values())) for one in item.get("attributes", [])}


def items(body, fields):
    """The resource's attributes, and metrics or records."""
    one, = message(body, fields)["all"]
    scope, = one["scopes"]
    assert scope["scope"]["name"] == "sonde", scope
    return labels(one["resource"]), scope["items"]
