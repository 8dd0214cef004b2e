"""The one reader of the library's doc comments: what tests/library and the manual pages (docs/manual/write) know of stdlib/*.stp.

A comment describes the functions and aliases below it, up to the next comment or empty line. It must make sense by itself, because the
pages show each function alone. A paragraph of the file is a block: its functions belong together, and so do its examples. An example is a
line `Example: STATEMENT -> OUTPUT` in a comment. It belongs to the functions of the block that the statement calls. OUTPUT is omitted if it
differs from run to run. tests/manual_pages runs the examples.

A file begins with a comment `Topic: description`. It is the topic of the file's functions in docs/library.md. A line `// ---- Topic ----`
that begins with a capital letter changes the topic for the functions below.
"""
import dataclasses
import itertools
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
FUNCTION = re.compile(r"(?:private )?function (\w+)(?::\w+)?\s*\(")
ALIAS = re.compile(r"probe ([\w.()\"*]+)\s*\+?=(?!=)")
EXAMPLE = re.compile(r"Example: (.+)")
TOPIC = re.compile(r"// ---- ([A-Z].*?) -*$")
# Words with which a comment begins that makes sense only after the comment above.
LEANS = re.compile(r"(The same|The others?|These|Those|They|Shorter|Longer|As |And |Also |Of (it|them|that)|Its |Their |At most|In double|Such )")


@dataclasses.dataclass
class Entry:
    """A function or an alias."""
    name: str
    file: str
    forms: list  # how it is declared; the points of an alias
    comment: list  # lines
    block: list  # (comment, names) of the whole block, in its order
    examples: list  # (statement, output or None)
    variables: list  # of an alias: what it sets
    topic: str  # of docs/library.md

    @property
    def sentence(self):
        return first_sentence(self.comment)

    @property
    def text(self):
        return " ".join(self.comment)


def first_sentence(comment):
    """Of the text before a list."""
    text = " ".join(itertools.takewhile(lambda line: not line.startswith("* "), comment)).strip().removesuffix(":").replace("|", "\\|")
    end = re.search(r"(?<![.\d]\.)(?<!e\.g)[.;:] (?=[A-Z`])|\.$", text)
    return text[: end.start()] if end else text


def declaration(lines, at):
    """A function's head, which may go on in further lines."""
    text = lines[at]
    while ")" not in text and at + 1 < len(lines):
        at += 1
        text += " " + lines[at].strip()
    text = re.sub(r"^(private )?function ", "", text)
    return text[: text.index(")") + 1]


def alias_text(lines, at):
    """An alias from its name to the end of its body."""
    text = lines[at]
    while text.count("{") == 0 or text.count("{") > text.count("}"):
        at += 1
        if at >= len(lines):
            break
        text += "\n" + lines[at]
    return text


def set_variables(body, macros, depth=0):
    """The names that an alias sets, those of the macros that it uses too."""
    out = []
    for found in re.finditer(r"@(\w+)|(?<![\w$@>.])([A-Za-z]\w*)\s*=(?!=)", body):
        if found[1] and found[1] in macros and depth < 4:
            out += set_variables(macros[found[1]], macros, depth + 1)
        elif found[2] and not found[2].startswith("_"):
            out.append(found[2])
    return list(dict.fromkeys(out))


def read_macros(text):
    return {found[1]: found[2] for found in re.finditer(r"@define (\w+)(?:\([^)]*\))?\s*%\((.*?)%\)", text, re.S)}


def read_file(path, shared):
    """Functions and aliases of a file, and the comment that it begins with."""
    text = path.read_text()
    lines = text.splitlines()
    macros = shared | read_macros(text)
    entries, comment, fresh, block, examples = [], [], True, [], []
    head, in_head, topic = [], True, ""
    for at, line in enumerate(lines):
        if line.startswith("//"):
            if in_head and not EXAMPLE.match(line[2:].strip()):
                head.append(line[2:].removeprefix(" ").rstrip())  # as it is: it may have paragraphs and lists
            if line.startswith("// ----"):
                comment, fresh, block = [], True, []
                topic = found[1] if (found := TOPIC.match(line)) else topic
                continue
            if fresh:
                comment = []
                block.append((comment, []))
            if example := EXAMPLE.match(line[2:].strip()):
                statement, _, output = example[1].partition(" -> ")
                examples.append((statement, output or None))
            else:
                comment.append(line[2:].strip())
            fresh = False
            continue
        if in_head:
            topic = " ".join(head).partition(":")[0]
        in_head = False
        fresh = True
        if not line.strip():
            comment, block, examples = [], [], []
        function, alias = FUNCTION.match(line), ALIAS.match(line)
        if not function and not alias:
            continue
        if not block:
            block.append((comment, []))
        name = (function or alias)[1]
        if function and not line.startswith("private"):
            entries.append((Entry(name, path.name, [declaration(lines, at)], comment, block, examples, [], topic), True))
        elif alias:
            whole = alias_text(lines, at)
            points = re.sub(r"\s+", " ", whole[whole.index("=") + 1 :].partition("{")[0]).strip()
            body = whole.partition("{")[2]
            entries.append((Entry(name, path.name, [points], comment, block, examples, set_variables(body, macros), topic), False))
        block[-1][1].append(name)
    return entries, head


def read_library(folder=ROOT / "stdlib"):
    """Public functions and aliases by name, in the files' order (forms of one name together), and what each file says of itself."""
    shared = {}
    for path in sorted(folder.glob("*.stpm")):
        shared |= read_macros(path.read_text())
    functions, aliases, heads = {}, {}, {}
    for path in sorted(folder.glob("*.stp")):
        entries, heads[path.name] = read_file(path, shared)
        for entry, is_function in entries:
            if entry.name.startswith("_"):
                continue
            into = functions if is_function else aliases
            entry.examples = [one for one in entry.examples if re.search(rf"\b{entry.name}\s*\(", one[0])]
            if entry.name in into:
                first = into[entry.name]
                first.forms += [form for form in entry.forms if form not in first.forms]
                first.variables += [name for name in entry.variables if name not in first.variables]
                first.examples += [one for one in entry.examples if one not in first.examples]
            else:
                into[entry.name] = entry
    return functions, aliases, heads


def find_tests(functions):
    """The first test that calls each function: of those under tests/run, then under tests/vm, then of the examples."""
    covered = {}
    for folder in ("tests/run", "tests/vm", "examples"):
        for path in sorted((ROOT / folder).rglob("*.stp")):
            script = re.sub(r"^//.*", "", path.read_text(errors="replace"), flags=re.M)  # what a test expects calls nothing
            for name in set(re.findall(r"\b(\w+)\s*\(", script)) & functions.keys():
                covered.setdefault(name, path.relative_to(ROOT))
    return covered
