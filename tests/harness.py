"""What the suites of test_* functions share: a module's functions are its tests, each raises what it finds wrong."""
import argparse
import pathlib
import subprocess
import traceback

ROOT = pathlib.Path(__file__).resolve().parent.parent
LINES_SHOWN = 40


class Missing(Exception):
    """What the test needs is not here: it is said, and counts as nothing."""


def describe(test, problem):
    """Where in the test it went wrong, and what was seen."""
    where = traceback.extract_tb(problem.__traceback__)
    line = next((frame.lineno for frame in reversed(where) if frame.name == test.__name__), 0)
    seen = (str(problem) + (getattr(problem, "stderr", None) or "")).splitlines()
    return f"FAIL {test.__name__} (line {line})\n  " + "\n  ".join(seen[:LINES_SHOWN])


def run_module(module, build="build-dev"):
    """Runs the tests of a module's globals that the command line names, all by default. SONDE and TRIGGERS among these globals
    become the programs to test and the folder of traced programs. Gives the exit status."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", default=build)
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    folder = (ROOT / options.build).resolve()
    module.update(SONDE=str(folder / "sonde"), TRIGGERS=folder / "tests" / "triggers")
    passed = failed = 0
    for name, test in list(module.items()):
        if not name.startswith("test_") or options.names and name not in options.names:
            continue
        try:
            test()
            passed += 1
        except Missing as reason:
            print(f"{name}: passed over: {reason}")
        except (AssertionError, subprocess.SubprocessError, OSError) as problem:
            failed += 1
            print(describe(test, problem))
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0
