# The traced program of tests/python_tests. It writes its own stack to a file and calls getppid() on the same line, where sonde prints
# the stack that it sees. It runs on all versions of Python from 3.8 on. Usage: python_stacks.py TRUTH [SCENARIO...]
import ctypes
import functools
import importlib.util
import os
import re
import sys
import tempfile
import threading
import traceback

truth = open(sys.argv[1], "w", encoding="utf-8", errors="surrogateescape")
lock = threading.Lock()
scenarios = {}


def scenario(function):
    scenarios[function.__name__] = function
    return function


def note(frame):
    """Writes the stack that begins with this frame."""
    lines = []
    while frame is not None:
        code = frame.f_code
        lines.append("%s [%s:%s]" % (getattr(code, "co_qualname", code.co_name), code.co_filename, frame.f_lineno))
        frame = frame.f_back
    with lock:
        truth.write("%d\n%s\n\n" % (threading.get_native_id(), "\n".join(lines)))
        truth.flush()


here = sys._getframe


def hit(*ignored):
    note(here()); os.getppid()
    return 1


class Plain:
    @property
    def value(self):
        return hit()

    @classmethod
    def of_class(cls):
        return hit()

    @staticmethod
    def of_none():
        return (lambda: hit())()

    def __getattr__(self, name):
        return hit()

    def __add__(self, other):
        return hit()

    def __enter__(self):
        return hit()

    def __exit__(self, *reason):
        hit()

    def __del__(self):
        hit()


@scenario
def classes():
    one = Plain()
    one.value
    Plain.of_class()
    Plain.of_none()
    one.missing
    one + one
    with one:
        hit()
    del one

    class Inner:
        hit()

        class Innermost:
            hit()

        def method(self):
            def local():
                return hit()
            return local()
    Inner().method()


@scenario
def called_by_c():
    sorted([1, 2], key=hit)
    functools.reduce(lambda a, b: hit(), [1, 2, 3])
    list(map(functools.partial(hit, 1), [1]))
    re.sub("a", lambda match: str(hit()), "banana")
    max([1, 2], key=lambda x: sorted([x], key=lambda y: hit())[0])
    eval("hit()")
    exec("hit()\n\n\nhit()")
    compare = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)(lambda a, b: hit() - 1)
    ctypes.CDLL(None).qsort((ctypes.c_int * 2)(1, 2), 2, 4, compare)

    @functools.lru_cache(maxsize=None)
    def cached(x):
        return hit()
    cached(1)


@scenario
def generators():
    def inner():
        hit()
        yield 1
        hit()
        try:
            yield 2
        finally:
            hit()

    def outer():
        yield from inner()
        hit()
    list(outer())
    stopped = outer()
    next(stopped)
    next(stopped)
    stopped.close()
    [hit() for _ in range(1)]
    {hit(): hit() for _ in range(1)}
    sum(hit() for _ in range(2))

    async def coroutine(depth):
        if depth:
            return await coroutine(depth - 1)
        hit()
        async for _ in asynchronous():
            hit()

    async def asynchronous():
        yield hit()
    try:
        coroutine(2).send(None)
    except StopIteration:
        pass


@scenario
def lines():
    hit(1,
        2,
        hit(),
        3)
    (
        Plain
        .of_class
    )()
    x = [
        hit(),

        hit(), hit(
        )]
    if x: hit()
    for _ in range(2): hit()
    while hit():
        if len(x): break
    try:
        hit()
        raise ValueError(hit())
    except ValueError:
        hit()
    finally:
        hit()
    assert hit(), \
        hit()
    return (
        hit()
        + hit()
    )


@scenario
def large():
    """Tables of lines with large differences, and tables of many kilobytes."""
    for gap in 1, 126, 127, 128, 255, 256, 300, 1000, 40000:
        code = "def far(x):\n" + "\n" * gap + "  hit()\n  for i in range(2):" + "\n" * gap + "    hit(\n" + "\n" * gap + "1)\n  return hit()\nfar(1)"
        exec(compile(code, "<gap %d>" % gap, "exec"), {"hit": hit})
    many = "\n".join("    x = [x, %d, %s]" % (i, "x, " * (i % 20)) for i in range(3000))
    exec(compile("def many(x):\n hit()\n if 1:\n%s\n    hit()\n%s\n    return hit()\nmany(1)" % (many, many.replace("[x,", "[0,")), "<many>", "exec"), {"hit": hit})
    wide = "hit() + " * 400 + "hit()"
    exec(compile("x = 1\n" + wide, "<wide>", "exec"), {"hit": lambda: 1})


@scenario
def too_large():
    """A table of lines that is larger than what sonde reads."""
    many = "\n".join("    x = [x, %d, %s]" % (i, "x, " * 100) for i in range(4000))
    exec(compile("def too_many(x):\n%s\n    return hit()\ntoo_many(1)" % many, "<too many>", "exec"), {"hit": hit})


@scenario
def made_again():
    """Code objects with equal names at the same addresses, one after the other."""
    for i in range(40):
        names = {"hit": hit}
        exec(compile("\n" * (i % 7) + "def made():\n" + "\n" * (i % 5) + " return hit()", "<made>", "exec"), names)
        names["made"]()
        names = {"hit": hit}
        exec(compile("def made%d():\n return hit()\nmade%d()" % (i % 10, i % 10), "<made%d>" % (i % 3), "exec"), names)


@scenario
def texts():
    """Names and files of all widths of characters, and names that are too long."""
    with tempfile.TemporaryDirectory() as folder:
        for encoding, name in (("utf-8", "straße"), ("latin-1", "größe"), ("utf-8", "函数"), ("utf-8", "𝔘nicode"), ("utf-8", "mixed函ß")):
            path = os.path.join(folder, "file_%s.py" % name)
            with open(path, "w", encoding=encoding) as out:
                out.write("# -*- coding: %s -*-\ntext = '%s'\ndef %s(hit):\n    return hit()\n" % (encoding, name, name))
            spec = importlib.util.spec_from_file_location("module", path)
            module = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(module)
            next(value for key, value in vars(module).items() if callable(value) and not key.startswith("__"))(hit)
        exec(compile("hit()", os.fsdecode(os.fsencode(folder) + b"/bytes\xff\xe4.py"), "exec"), {"hit": hit})


@scenario
def long_texts():
    exec(compile("def %s(): hit()\n%s()" % ("f" * 300, "f" * 300), "/begin" + "/folder" * 60 + "/end.py", "exec"), {"hit": hit})


@scenario
def threads():
    def work(depth):
        if depth:
            return work(depth - 1)
        return hit()
    for i in range(3):
        thread = threading.Thread(target=work, args=(i,))
        thread.start()
        thread.join()


@scenario
def many_threads():
    start = threading.Barrier(8)

    def work(number, depth):
        if depth:
            return work(number, depth - 1)
        start.wait()
        for _ in range(20):
            hit(sorted([number], key=lambda x: 0))
        return 0
    all_threads = [threading.Thread(target=work, args=(i, i)) for i in range(8)]
    for thread in all_threads:
        thread.start()
    for thread in all_threads:
        thread.join()


@scenario
def threads_of_c():
    """A thread that C code has started. Python makes and deletes its structure at each call."""
    function = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)(lambda argument: hit() and None)
    libc = ctypes.CDLL(None)
    for _ in range(5):
        thread = ctypes.c_ulong()
        libc.pthread_create(ctypes.byref(thread), None, function, None)
        libc.pthread_join(thread, None)


@scenario
def children():
    """After fork(): the same addresses in another process."""
    child = os.fork()
    if child == 0:
        hit()
        exec("def again():\n\n\n return hit()\nagain()")
        os._exit(0)
    os.waitpid(child, 0)
    hit()


@scenario
def deep():
    def down(depth):
        return down(depth - 1) if depth else hit()
    sys.setrecursionlimit(20000)
    threading.stack_size(512 << 20)
    thread = threading.Thread(target=down, args=(10000,))
    thread.start()
    thread.join()


@scenario
def sleeping():
    import time
    note(here()); time.sleep(0.001); os.getppid()


for name in sys.argv[2:] or scenarios:
    scenarios[name]()
truth.close()
