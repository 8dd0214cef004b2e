"""A program that calls a function as often as a test tells it, so that counts are known exactly."""
import contextlib
import os
import pathlib
import subprocess
import tempfile

# Calls step() as often as a line of its input says, and answers when it is done. Without input, a second thread calls
# spin() until the end, and counts the calls.
STEPS = r"""
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
struct item { const char *name; int price; };
static struct item items[2] = {{"tea", 4}, {"cake", 9}};
static volatile int stop;
__attribute__((noinline)) int step(int number, struct item *item) { __asm__ volatile("" ::: "memory"); return number + item->price; }
__attribute__((noinline)) int spin(int number) { __asm__ volatile("" ::: "memory"); return number + 1; }
static void *spinner(void *count) {
    while (!stop)
        ++*(long *)count, spin(3);
    return NULL;
}
int main(int argc, char **argv) {
    pthread_t thread;
    long count = 0, number = 0;
    FILE *in = fopen(argv[1], "r"), *out = fopen(argv[2], "w");
    if (argc > 3)
        pthread_create(&thread, NULL, spinner, &count);
    int times;
    while (fscanf(in, "%d", &times) == 1) {
        for (int i = 0; i < times; i++, number++)
            step((int)number, &items[number % 2]);
        fprintf(out, "done\n");
        fflush(out);
    }
    stop = 1;
    if (argc > 3)
        pthread_join(thread, NULL);
    fprintf(out, "spins %ld\n", count);
    fclose(out);
    return argc > 4 ? 3 : 0;
}
"""


def compiled():
    """The folder with the program, built once."""
    if not hasattr(compiled, "folder"):
        compiled.folder = tempfile.TemporaryDirectory()
        source = pathlib.Path(compiled.folder.name, "steps.c")
        source.write_text(STEPS)
        subprocess.run(["cc", "-g", "-O1", "-pthread", "-o", source.with_suffix(""), source], check=True)
    return pathlib.Path(compiled.folder.name)


class Steps:
    """The program with pipes for its steps. `command`: for -c; else it runs from the beginning, as `process`."""

    def __init__(self, *more, start=True):
        self.folder = tempfile.TemporaryDirectory()
        self.pipes = [os.path.join(self.folder.name, name) for name in ("in", "out")]
        for pipe in self.pipes:
            os.mkfifo(pipe)
        self.argv = [str(compiled() / "steps"), *self.pipes, *more]
        self.command = " ".join(self.argv)
        self.process = subprocess.Popen(self.argv) if start else None
        self.inp = self.out = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for file in (self.inp, self.out):
            if file:
                with contextlib.suppress(OSError):
                    file.close()
        if self.process:
            self.process.kill()
            self.process.wait()
        self.folder.cleanup()

    def step(self, times):
        self.inp = self.inp or open(self.pipes[0], "w")
        self.out = self.out or open(self.pipes[1])
        self.inp.write(f"{times}\n")
        self.inp.flush()
        assert self.out.readline() == "done\n", "the program does not answer"

    def end(self):
        """The number of calls of spin()."""
        self.inp = self.inp or open(self.pipes[0], "w")
        self.out = self.out or open(self.pipes[1])
        self.inp.close()
        return int(self.out.read().split()[-1])


def step_point(name="step"):
    return f'process("{compiled() / "steps"}").function("{name}")'
