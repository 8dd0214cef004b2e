"""The examples of SystemTap's language reference (Debian's package systemtap-doc, a PDF), read with poppler's pdftotext.

Each indented block is an example, or is listed below with the reason why it is not one. A block that is neither is a failure, and
so is a reason that applies to no block. Examples become scripts: omitted bodies (`{ ... }`) are empty, statements get a probe and
the globals that they need, and points get a probe each."""
import os
import re
import shlex
import subprocess

import harness

PDF = "/usr/share/doc/systemtap-doc/langref.pdf"

# Blocks that are not examples, by a pattern: the reason.
NONE = [
    (r"^\s*(•|February|tion\), so repeated|\d\. )|^\s*Table \d|^\s*Parameter  |\(see width sub|that no character is written|used by script code\.|may be repl|unprivileged code\.\)"
     r"|own process\.$|exported from a tapset|legacy \(pre-1\.8\)|cess syntax should|inside the function body|instead of the default long|minimum number of digits"
     r"|tapset directory", "text, or a table"),
    (r"kread\(&|<C_stmts>", "a piece of C, or its form"),
    (r"^\s*asmlinkage", "C"),
    (r"\.insn\b", "single steps, which docs/language.md says are not there"),
    (r"^\s*java\(", "probes of Java, which need an agent inside of the program"),
    (r"kernel\.mark\(", "markers, which the kernel has not had since 2009, nor SystemTap since 5.5"),
    (r"<\w+>|\[STMT|\b(STMT\d?|EXP\d?|ARRAY|SCALAR|LABEL|BODY|CONDITION|LPATTERN|INDEX1)\b|\((PATTERN|FUNCTION|ADDRESS|N|NAME)\)|\bsyscall\.NAME|"
     r"\"(PATH|FUNCTION|PNAME|type_name|func\[?@|func@|\.\.\.+)\"?|(?<!_ops):string \(|\(fmt:|\(delimiter:|^\s*print(ln)? \(\)$|specifier$|statement1", "a form: words stand for what is meant"),
    (r"\$var->type|\$flag1", "names variables of a program that is not there"),
    (r"probe some_unrelated_probe = \.\.\.", "a point is left out"),
    (r'g\(\) -> "first', "calls and what they do, beside each other"),
    (r"UNSUPPORTED", "is for kernels of 2005 only: elsewhere it is meant to be no script"),
    (r"The following results in a conflict", "a part of it is wrong on purpose"),
]
# Points with misprints.
MISPRINTS = {'module{"ext3"}.function("ext3_*")', 'kernel.function("sys_*)'}
# The globals that fragments need, by a pattern of the fragment.
GLOBALS = [(r"\bfoo \[4", "global foo, processusage, times\n"), (r"writes\[", "global a, writes\n"), (r"\bmint\b", "global mint\nprobe never { mint[1] = 1 }\n"),
           (r"fuss_with", 'global foo\nfunction fuss_with(x) { }\nprobe never { foo[1, "x"] = 1 }\n'), (r"\(condition\)", "global condition\nprobe never { condition = 1 }\n"),
           (r"probe foo \{ if \(@defined", 'probe foo = process("./a.out").function("traceme") { }\n'), (r"traceme", "global traceme\n"), (r"@cast\(tv", "global tv, task\n"), (r"@cast\(pointer", "global pointer\n")]
# Places where it uses script syntax in C.
C_CORRECTIONS = {'print("second function") %}': 'STAP_PRINTF("second function"); %}'}
ARGUMENTS = [(r"\$1, @2", ("5+5", "mystring")), (r'" @1 "', ("foo",))]
# Output that is wrong: according to the reference itself, 11 is the 11th of 1, 2, 3, 5, 8, ...; and its formats lack newlines.
CORRECTIONS = {"11th fibonacci number: 118": "11th fibonacci number: 144"}
# Output of another machine's packets; lines of another process.
ELSEWHERE = re.compile(r"value \|---")
ANOTHER = re.compile(r"ls \d+ process\.syscall")
PRINTS = re.compile(r"(prints:|generates the following output\.|The output will be|output from this command:)$")
DECLARATION = re.compile(r"\s*(%\{|probe|global|function|private|@define|%\(|#|//|/\*)")
POINT = re.compile(r"(kernel|module|process|syscall|timer|procfs|kprobe|\{kernel)\b[^{]*[.({].*|end")


def blocks():
    """The text before each indented block (its last line), and the block."""
    if not os.path.exists(PDF):
        raise harness.Missing("no language reference of systemtap-doc (not installed, or left out when it was)")
    try:
        text = subprocess.run(["pdftotext", "-layout", PDF, "-"], check=True, capture_output=True, text=True).stdout
    except FileNotFoundError:
        raise harness.Missing("no pdftotext (poppler-utils)") from None
    found, before, block = [], "", []
    for page in text.split("\f"):
        lines = page.rstrip().split("\n")
        if not re.fullmatch(r"\s*\d+", lines[-1]):  # title and contents
            continue
        for line in [""] + lines[:-1][1:]:  # without header and page number
            if line.startswith("    ") or not line.strip():
                block.append(line)
                continue
            if any(one.strip() for one in block):
                found.append((before, "\n".join(block).strip("\n").replace("’", "'").replace("˜", "~")))
            before, block = line.strip(), []
    # The contents are lines with dots.
    return [(before, block) for before, block in found if ". . ." not in block]


def why_none(block):
    return next((why for pattern, why in NONE if re.search(pattern, block, re.M)), None)


def script_of(block, point):
    """The script of a block, which may be a fragment; statements are put into a probe of this point."""
    code = re.sub(r"\{ \.\.\. \}", "{ }", block)
    wanted = "".join(text for pattern, text in GLOBALS if re.search(pattern, code))
    if re.match(r"\s*procfs", code):
        code = "probe " + code.strip()
    elif re.match(r"\s*@define foo %\( x %\)", code):
        definitions, statement = code.rsplit("\n", 1)
        code = f"{definitions}\nprobe never {{ {statement} println(x) }}"
    elif re.match(r"\s*@cast", code):
        code = "probe never { " + " ".join(f"println({line.strip()})" for line in code.splitlines()) + " }"
    elif not DECLARATION.match(code) or re.match(r"\s*# (Increment|Skip|Simple)", code):
        code = f"probe {point} {{\n{code}\n}}"
    if not re.search(r"^\s*probe [^=]*\{", code, re.M) or code.lstrip().startswith("%("):  # definitions alone are not a script
        code += "\nprobe never { }"
    return wanted + code


def calls_of(block):
    """A probe that calls each C function of a block once, because uncalled functions are not translated."""
    calls = []
    for name, argument, body in re.findall(r"^\s*function (\w+)(?::\w+)? ?\(([^)]*)\) ?%\{(.*?)%\}", block, re.M | re.S):
        value = '"x"' if f"strlcpy (STAP_RETVALUE, STAP_ARG_{argument}," in body else 1
        calls.append(f"{name}({value if argument else ''})")
    # C alone does not show what a global is.
    for name, keys in re.findall(r"STAP_GLOBAL_SET_(\w+)\(((?:\d+, ?)*)", block):
        calls.insert(0, f"{name}[{keys.rstrip(', ')}] = 0" if keys else f"{name} = 0")
    return "\nprobe timer.profile { " + " ".join(calls) + " }\n" if calls else ""


def points_of(block):
    """The points of a block that consists only of points and comments."""
    lines = [line.strip() for line in block.splitlines() if line.strip() and not line.strip().startswith("#")]
    return lines if lines and all(POINT.fullmatch(line) for line in lines) else []


def command_of(block):
    """The words of a command line without those after a `|`; empty if it is not a command."""
    found = re.match(r"\s*([#$%] )?stap\b", block)
    if not found:
        return []
    words = shlex.split(block[found.end():].replace("\\\n", " "))
    return words[:words.index("|")] if "|" in words else words


def arguments_of(block):
    return next((list(words) for pattern, words in ARGUMENTS if re.search(pattern, block)), [])


def as_words(text):
    for wrong, right in CORRECTIONS.items():
        text = text.replace(wrong, right)
    return "".join(text.split())
