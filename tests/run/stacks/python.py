# The program of python.stp.
import os


def inner():
    return os.getppid()


def outer():
    return inner()


outer()
