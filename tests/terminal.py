"""A pseudo-terminal whose other end is read by pyte, which shows what a person would see."""
import fcntl
import os
import pty
import re
import select
import signal
import struct
import termios
import time

import pyte

from harness import ROOT


def expect(condition, *seen):
    assert condition, "\n".join(str(s)[:4000] for s in seen)


class Session:
    """A program on a terminal of its own. Everything ends with the block."""

    def __init__(self, program, *argv, rows=30, columns=100, work=ROOT):
        self.screen = pyte.HistoryScreen(columns, rows, history=1000)
        self.stream = pyte.ByteStream(self.screen)
        self.raw = b""
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.chdir(work)
            os.execv(program, [os.path.basename(program), *map(str, argv)])
        self.resize(rows, columns)
        self.status = None

    def resize(self, rows, columns):
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self.screen.resize(rows, columns)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.status is None:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        os.close(self.fd)

    def text(self):
        return "\n".join(line.rstrip() for line in self.screen.display)

    def read(self, seconds):
        """False when the program has closed the terminal."""
        if not select.select([self.fd], [], [], seconds)[0]:
            return True
        try:
            data = os.read(self.fd, 65536)
        except OSError:
            return False
        self.raw += data
        self.stream.feed(data)
        return bool(data)

    def until(self, condition, seconds=60):
        """Waits until the screen has the text, or satisfies the function; gives the match or the text."""
        found = condition if callable(condition) else lambda text: re.search(condition, text)
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if seen := found(self.text()):
                return seen
            if not self.read(0.05):
                break
        raise AssertionError(f"not seen: {condition}\n{self.text()}")

    def type(self, keys):
        os.write(self.fd, keys.encode())

    def end(self, seconds=60):
        """What is on the terminal, lines that have left it too, after the program has ended."""
        end = time.monotonic() + seconds
        while self.read(0.1):
            expect(time.monotonic() < end, "the session does not end", self.text())
        self.status = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        return self.text()
