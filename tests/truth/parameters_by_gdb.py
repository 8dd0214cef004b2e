"""Runs inside gdb: prints the parameters of a function at given addresses, at each hit, as tests/truth writes them.

  gdb -nx -batch -ex 'py function, places = "f", ["0x...", ...]' -x parameters_by_gdb.py PROGRAM

Each line is `hit`, a tab, and `name=value ...`. A value that gdb does not know is `?`. Without places, these are where gdb itself stops in the
function and its inlined copies.
"""
import gdb


def text(value):
    kind = value.type.strip_typedefs()
    if kind.code == gdb.TYPE_CODE_REF and kind.target().strip_typedefs().code == gdb.TYPE_CODE_INT:
        return text(value.referenced_value())
    if kind.code in (gdb.TYPE_CODE_PTR, gdb.TYPE_CODE_REF):
        int(value)
        return "P"
    if kind.code == gdb.TYPE_CODE_STRUCT:
        return "{" + ", ".join(f".{field.name}={known_text(value[field.name])}" for field in kind.fields()) + "}"
    if kind.code == gdb.TYPE_CODE_FLT:
        return f"{float(value) + 0.0:.15g}"
    return str(int(value) & 255 if kind.sizeof == 1 else int(value))


def known_text(value):
    try:
        return text(value)
    except (gdb.error, gdb.MemoryError):
        return "?"


class Hit(gdb.Breakpoint):
    def stop(self):
        # At the first instruction of an inlined copy, gdb's frame is still that of the caller; the symbols are found by the address.
        frame = gdb.selected_frame()
        block = gdb.block_for_pc(frame.pc())
        while block and not (block.function and f"{block.function.name}(".startswith(f"{function}(")):  # noqa: F821 (set by -ex)
            block = block.superblock
        if not block and places:  # noqa: F821
            return False
        print("hit\t" + " ".join(f"{s.name}={known_text(s.value(frame))}" for s in block or [] if s.is_argument))
        return False


gdb.execute("starti", to_string=True)
for place in [f"*{place}" for place in places] or [function]:  # noqa: F821
    Hit(place)
gdb.execute("continue")
