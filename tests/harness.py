"""Common code of all suites: functions of a module named test_* are its tests, and each raises an exception if it fails."""
import argparse
import ctypes
import functools
import os
import pathlib
import struct
import subprocess
import traceback

ROOT = pathlib.Path(__file__).resolve().parent.parent
LINES_SHOWN = 40
# Numbers of system calls.
# The machine's architecture, as sonde's messages name it.
ARCHITECTURE = {"x86_64": "x86-64", "aarch64": "arm64"}.get(os.uname().machine, os.uname().machine)
PERF_EVENT_OPEN, BPF = {"arm64": (241, 280)}.get(ARCHITECTURE, (298, 321))
os.environ["TERM"] = "xterm"  # of the pseudo-terminals


class Missing(Exception):
    """The machine lacks something that the test needs: this is reported, and counted as neither passed nor failed."""


@functools.cache
def has_watchpoints():
    """False if the processor's debug registers report nothing, as in virtual machines without them."""
    memory = ctypes.create_string_buffer(16)
    address = (ctypes.addressof(memory) + 7) // 8 * 8
    exclude_kernel, write, breakpoint_event = 1 << 5, 2, 5
    attributes = struct.pack("=IIQQQQQIIQQ", breakpoint_event, 128, 0, 1, 0, 0, exclude_kernel, 0, write, address, 8).ljust(128, b"\0")
    event = ctypes.CDLL(None, use_errno=True).syscall(PERF_EVENT_OPEN, attributes, 0, -1, -1, 0)
    if event < 0:
        return True  # the tests themselves report problems
    ctypes.c_uint64.from_address(address).value = 1
    count = struct.unpack("=Q", os.read(event, 8))[0]
    os.close(event)
    return count > 0


def needs_watchpoints():
    if not has_watchpoints():
        raise Missing("the processor's debug registers report nothing on this machine")


@functools.cache
def has_register_writes():
    """Whether the kernel allows BPF programs at user code to change registers."""
    def instruction(code, registers, offset, number):
        return struct.pack("=BBhi", code, registers, offset, number)
    ax = 80  # a register in struct pt_regs; r2 = *(u64 *)(r1 + ax); *(u64 *)(r1 + ax) = r2; r0 = 0; exit
    code = ctypes.create_string_buffer(instruction(0x79, 0x12, ax, 0) + instruction(0x7b, 0x21, ax, 0) +
                                       instruction(0xb7, 0, 0, 0) + instruction(0x95, 0, 0, 0))
    license = ctypes.create_string_buffer(b"GPL")
    program_load, type_kprobe = 5, 2
    attributes = struct.pack("=IIQQ", type_kprobe, 4, ctypes.addressof(code), ctypes.addressof(license)).ljust(128, b"\0")
    program = ctypes.CDLL(None, use_errno=True).syscall(BPF, program_load, attributes, 128)
    if program >= 0:
        os.close(program)
    return program >= 0


def runs(program):
    """False if the kernel cannot run such programs, for example 32-bit ones."""
    try:
        subprocess.run([program], stdin=subprocess.DEVNULL, capture_output=True, timeout=60)
    except OSError:
        return False
    return True


def end_check(files, problems):
    """The end of a suite that checks all files of a kind, which is one test. Returns the exit status."""
    good = files > 0 and not problems
    print(f"{files} files\n{int(good)} passed, {int(not good)} failed")
    return 0 if good else 1


def describe(test, problem):
    """The place in the test where it failed, and the values."""
    where = traceback.extract_tb(problem.__traceback__)
    line = next((frame.lineno for frame in reversed(where) if frame.name == test.__name__), 0)
    errors = getattr(problem, "stderr", None) or ""  # bytes after a timeout
    what = str(problem) if isinstance(problem, AssertionError) else f"{type(problem).__name__}: {problem}"
    seen = (what + (errors.decode(errors="replace") if isinstance(errors, bytes) else errors)).splitlines()
    return f"FAIL {test.__name__} (line {line})\n  " + "\n  ".join(seen[:LINES_SHOWN])


class Program(subprocess.Popen):
    """A program that a test starts in a `with`: it is killed if the test fails inside, instead of being waited for."""

    def __exit__(self, kind, value, trace):
        if kind:
            self.kill()
        return super().__exit__(kind, value, trace)


def run_module(module, build="build-dev"):
    """Runs the tests of a module's globals that the command line names, by default all. Sets SONDE and TRIGGERS in these globals to the program
    under test and the folder of traced programs. Returns the exit status."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", default=build)
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    folder = (ROOT / options.build).resolve()
    module.update(SONDE=str(folder / "sonde"), TRIGGERS=folder / "tests" / "triggers")
    subprocess.Popen = Program
    passed = failed = 0
    for name, test in list(module.items()):
        if not name.startswith("test_") or options.names and name not in options.names:
            continue
        try:
            test()
            passed += 1
        except Missing as reason:
            print(f"{name}: passed over: {reason}")
        except Exception as problem:
            failed += 1
            print(describe(test, problem))
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0
