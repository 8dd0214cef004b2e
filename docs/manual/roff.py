"""From the Markdown of our documents to the man macros: headings, paragraphs, lists, tables, code, and what stands in a line.

A table's first column is a tag with the rest below it, as terminals are narrow. Links are their text: the pages they lead to are files.
"""
import re


def escape(text):
    return text.replace("\\", "\\e").replace("-", "\\-").replace("'", "\\(aq").replace("`", "\\(ga").replace("^", "\\(ha").replace("~", "\\(ti")


def line_start(text):
    """What begins with a control character is no request."""
    return "\\&" + text if text.startswith((".", "'")) else text


def inline(text):
    """`code` and **strong text** bold, [text](link) as its text."""
    text = re.sub(r"\[([^]]+)\]\([^)]*\)", r"\1", text)
    out, strong = [], False
    for at, part in enumerate(re.split(r"`([^`]*)`", text)):
        if at % 2:
            out.append(f"\\fB{escape(part)}\\fR" if part and not strong else escape(part))
            continue
        for number, piece in enumerate(part.split("**")):
            if number:
                strong = not strong
                out.append("\\fB" if strong else "\\fR")
            out.append(escape(piece))
    return "".join(out)


def paragraph(text):
    return line_start(inline(" ".join(text.split())))


def code(lines):
    body = [line_start(escape(line)) if line else "" for line in lines]
    return [".PP", ".RS 4", ".nf", *body, ".fi", ".RE"]


def columns(row):
    return [cell.replace("\\|", "|").strip() for cell in re.split(r"(?<!\\)\|", row.strip().strip("|"))]


def table(rows):
    """Of three columns and more, each cell after the first has its column's title, because cells may be empty."""
    titles, out = columns(rows[0])[1:], []
    for row in rows[2:]:
        first, *rest = columns(row)
        rest = [f"{title}: {cell}" if len(titles) > 1 and title else cell for title, cell in zip(titles, rest) if cell]
        out += [".TP", line_start(inline(first)), line_start(inline("; ".join(rest))) if rest else "\\&"]
    return out


def convert(text):
    """The lines of a page's body. `#` is the document's title, and left out."""
    out, lines, at = [], text.splitlines(), 0

    def take(while_true):
        nonlocal at
        begin = at
        while at < len(lines) and while_true(lines[at]):
            at += 1
        return lines[begin:at]

    while at < len(lines):
        line = lines[at]
        if not line.strip() or re.match(r"# ", line):
            at += 1
        elif heading := re.match(r"(##+) (.*)", line):
            out.append(f'.SH "{escape(heading[2]).upper()}"' if heading[1] == "##" else f'.SS "{inline(heading[2])}"')
            at += 1
        elif line.startswith("|"):
            rows = take(lambda line: line.startswith("|"))
            title = [cell for cell in columns(rows[0]) if cell]
            if len(title) > 1:
                out += [".PP", line_start(inline(": ".join(title)) + ":")]
            out += table(rows)
        elif line.startswith("    "):
            block = take(lambda line: line.startswith("    ") or not line.strip())
            while not block[-1].strip():
                block.pop()
            out += code([line[4:] for line in block])
        elif line.startswith("* "):
            at += 1
            item = [line[2:]] + take(lambda line: line.startswith("  ") and line.strip())
            out += [".IP \\(bu 2", paragraph(" ".join(item))]
        else:
            out += [".PP", paragraph(" ".join(take(lambda line: line.strip() and not re.match(r"[|#]|\* |    ", line))))]
    return out


def page(title, section, date, source, manual, body):
    """Lines are not stretched to the right margin: probe points are long words, and a line may have only one."""
    return "\n".join([f'.TH "{escape(title)}" "{section}" "{date}" "{source}" "{manual}"', ".ad l", *body]) + "\n"
