"""Runs inside gdb: prints the variables of all functions of the stack at a line, as `sonde snapshot` writes them.

  gdb -nx -batch -ex 'py place = "callers.c:11"' -x variables_by_gdb.py PROGRAM

Each line is JSON: the function's name, and its variables with their values. Addresses are P. The value of a variable that gdb does not know is
null. Variables that the function declares at the line that it executes, or later, have no values yet, and are left out.
"""
import json

import gdb

CODES = {name: getattr(gdb, f"TYPE_CODE_{name}") for name in ("PTR", "ARRAY", "STRUCT", "FLT", "CHAR", "INT", "BOOL", "ENUM")}


def is_char(kind):
    return kind.sizeof == 1 and kind.code in (CODES["INT"], CODES["CHAR"])


def quoted(data):
    return '"' + data.split(b"\0")[0].decode().replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


def text(value, depth=0):
    kind = value.type.strip_typedefs()
    if kind.code == CODES["PTR"]:
        target = kind.target().strip_typedefs()
        if is_char(target) and int(value):
            return quoted(value.string().encode())
        if target.code == CODES["STRUCT"] and depth == 0 and int(value):
            return text(value.dereference(), depth)
        return "P"
    if kind.code == CODES["STRUCT"]:
        return "{...}" if depth else "{" + ", ".join(f".{field.name}={text(value[field.name], depth + 1)}" for field in kind.fields()) + "}"
    if kind.code == CODES["ARRAY"]:
        low, high = kind.range()
        if is_char(kind.target().strip_typedefs()):
            return quoted(bytes(int(value[i]) & 255 for i in range(low, high + 1)))
        return "[...]" if depth else "[" + ", ".join(text(value[i], depth + 1) for i in range(low, high + 1)) + "]"
    if kind.code == CODES["FLT"]:
        return f"{float(value):.6f}"
    if is_char(kind):
        return repr(chr(int(value) & 255))
    return str(int(value))


def known_text(symbol, frame):
    try:
        value = symbol.value(frame)
        return None if value.is_optimized_out else text(value)
    except (gdb.error, gdb.MemoryError):
        return None


def variables(frame):
    out = {}
    try:
        block = frame.block()
    except RuntimeError:  # no debug information
        return out
    line = frame.find_sal().line
    while block:
        for symbol in block:
            if (symbol.is_argument or symbol.is_variable) and symbol.name not in out and (symbol.is_argument or symbol.line < line):
                out[symbol.name] = known_text(symbol, frame)
        if block.function:
            return out
        block = block.superblock
    return out


gdb.Breakpoint(place)  # noqa: F821 (set by -ex)
gdb.execute("run", to_string=True)
frame = gdb.newest_frame()
while frame and frame.is_valid():
    print(json.dumps([frame.name(), variables(frame)]))
    frame = frame.older()
