"""Compares stacks of a language runtime: those that a program has written about itself, and those that sonde has printed.

Both are texts of blocks, which end with an empty line: the number of a thread, and a line for each function, the innermost one first. A function of
the language is `NAME [FILE:LINE]`, or `NAME` if it is written in C.
"""
import pathlib
import re
import shlex
import tempfile

MOST = 128  # functions of a stack
FUNCTION_BYTES, FILE_BYTES = 160, 256  # of names in stacks
# The shell that starts a program in another system (in_system()) calls getppid(), too.
MERGED = 'probe syscall.getppid { if (target_set_pid(pid()) && execname() != "sh") { printf("%d\\n", tid()) print_ubacktrace() println("") } }'


def in_system(root, *command):
    """The command that runs a program in the root folder of another system; `/` is this one."""
    words = shlex.join(map(str, command))
    if root == pathlib.Path("/"):
        return words
    return f"unshare -m sh -c {shlex.quote(f'mount -t proc proc {root}/proc && exec chroot {root} {words}')}"


class Folder(tempfile.TemporaryDirectory):
    """A folder of a system: its path here, and its path in there."""

    def __init__(self, root):
        super().__init__(dir=root / "tmp")
        self.root = root

    def __enter__(self):
        path = pathlib.Path(super().__enter__())
        return path, pathlib.Path("/") / path.relative_to(self.root)


def blocks(text):
    """The stacks of each thread."""
    out = {}
    for block in text.decode(errors="surrogateescape").split("\n\n"):
        if block.strip("\n"):
            thread, *lines = block.strip("\n").split("\n")
            out.setdefault(thread, []).append(lines)
    return out


def cut(line):
    """A function as sonde stores it: with the beginning of the name, and the end of the file."""
    match = re.fullmatch(r"(.*) \[(.*):(\d+)\]", line)
    if not match:
        return line.encode()
    name, file, number = match.groups()
    name, file = (text.encode(errors="surrogateescape") for text in (name, file))
    file = file if len(file) < FILE_BYTES else file[1 - FILE_BYTES:]
    return b"%s [%s:%s]" % (name[:FUNCTION_BYTES - 1], file, number.encode())


def raw(line):
    """The bytes of a line of sonde, in which bytes that are not UTF-8 are escaped."""
    return re.sub(rb"\\([0-7]{3})", lambda byte: bytes([int(byte[1], 8)]), line.strip().encode(errors="surrogateescape"))


def compare(truth, seen, errors, language, loop, may_be_cut=False, may_be_unreadable=False, may_be_lost=False):
    """Returns the number of stacks, and how many of them were cut. may_be_lost: sonde may be unable to unwind the machine's stack to its end."""
    truth, seen = blocks(truth), blocks(seen)
    assert truth.keys() == seen.keys(), (truth.keys(), seen.keys(), errors)
    unreadable = f"[unreadable {language} function]".encode()
    stacks = cuts = 0
    for thread, expected_stacks in truth.items():
        for expected, lines in zip(expected_stacks, seen[thread], strict=True):
            stacks += 1
            if may_be_lost and "sonde cannot unwind" in lines[-1]:
                lines.pop()
            is_cut = "more callers follow" in lines[-1]
            cuts += is_cut
            assert may_be_cut or not is_cut, "\n".join(lines)
            assert not any(loop in line for line in lines), "\n".join(lines)
            expected = [cut(line) for line in expected]
            found = [raw(line) for line in lines if not line.startswith((" 0x", " ... "))]
            if is_cut:
                assert sum("(inlined)" not in line for line in lines) - 1 == MOST and found, "\n".join(lines)
                expected = expected[:len(found)]
            if may_be_unreadable:
                expected = [unreadable if one == unreadable else line for one, line in zip(found, expected, strict=True)]
            assert found == expected, b"\n".join([b"sonde:", *found, b"the program:", *expected, *map(raw, lines)]).decode(errors="replace")
    assert stacks > 0
    return stacks, cuts
