# Calls a function many times, and prints the time of a call in nanoseconds.
import sys
import time


def called(number):
    return number


def run(count):
    begin = time.perf_counter()
    for number in range(count):
        called(number)
    return (time.perf_counter() - begin) / count * 1e9


run(1000)
print("call %.1f" % run(int(sys.argv[1])))
