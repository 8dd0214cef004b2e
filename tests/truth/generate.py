"""Generates C and C++ programs of many small functions with random signatures, bodies and calls. All programs end.

Program N is always the same. Built with -DTRUTH, it prints each call with its parameters and each return with its value.
"""
import random

# type -> (conversion of printf, the argument for it, how a value is written)
def _signed(bits):
    return lambda r: str(r.choice([0, 1, -1, 7, -2, (1 << (bits - 1)) - 1, -(1 << (bits - 1)) + 1, r.randrange(-100, 100)]))


def _unsigned(bits):
    suffix = "ul" if bits == 64 else "u"
    return lambda r: str(r.choice([0, 1, 7, (1 << bits) - 1, 1 << (bits - 1), r.randrange(200)])) + suffix


def _real(r):
    return repr(r.choice([0.0, 1.5, -2.25, 1024.0, -0.5, r.randrange(-400, 400) / 4]))


SCALARS = {
    "char": ("'\\\\%o'", "(unsigned char){}", lambda r: str(r.choice([65, 97, -3, 127, 0, 48]))),
    "signed char": ("'\\\\%o'", "(unsigned char){}", _signed(8)),
    "unsigned char": ("'\\\\%o'", "{}", _unsigned(8)),
    "short": ("%d", "{}", _signed(16)),
    "unsigned short": ("%u", "{}", _unsigned(16)),
    "int": ("%d", "{}", _signed(32)),
    "unsigned": ("%u", "{}", _unsigned(32)),
    "long": ("%ld", "{}", _signed(64)),
    "unsigned long": ("%lu", "{}", _unsigned(64)),
    "bool": ("%s", '{} ? "true" : "false"', lambda r: r.choice(["0", "1"])),
    "float": ("%f", "{}", _real),
    "double": ("%f", "{}", _real),
    "enum color": ("%d", "{}", lambda r: r.choice(["RED", "GREEN", "BLUE"])),
}
MEMBERS = ["char", "unsigned char", "short", "int", "unsigned", "long", "unsigned long", "float", "double", "bool"]
# Sizes that fit into one register, two registers, and memory; integers, floats and both; padding.
STRUCTS = [
    ["char"], ["short", "char"], ["int"], ["float"], ["char", "char", "char"], ["int", "char"], ["int", "int"], ["float", "float"],
    ["int", "float"], ["long"], ["double"], ["int", "int", "int"], ["long", "int"], ["double", "double"], ["long", "double"],
    ["double", "long"], ["float", "float", "float"], ["char", "double"], ["long", "long"], ["long", "long", "long"],
    ["int", "double", "char", "long"], ["unsigned char", "unsigned char", "unsigned char", "unsigned char"], ["bool", "short", "int"],
]


class Generator:
    def __init__(self, seed, functions, cxx):
        self.random = random.Random(seed)
        self.cxx = cxx
        self.functions = []
        self.count = functions
        self.structs = {f"S{i}": members for i, members in enumerate(STRUCTS)}

    # ---- types and values ---------------------------------------------------------------------------------------------

    def type_name(self, name):
        return name if name not in self.structs or self.cxx else f"struct {name}"

    def conversion(self, name):
        if name.endswith("*"):
            return "%p"
        if name in SCALARS:
            return SCALARS[name][0]
        return "{" + ", ".join(f".m{i}={SCALARS[m][0]}" for i, m in enumerate(self.structs[name])) + "}"

    def printed(self, name, expression):
        if name.endswith("*"):
            return [f"(void*){expression}"]
        if name in SCALARS:
            return [SCALARS[name][1].format(expression)]
        return [SCALARS[m][1].format(f"{expression}.m{i}") for i, m in enumerate(self.structs[name])]

    def value(self, name):
        if name.endswith("*"):
            return self.random.choice(["&cells[1]", "&cells[2]", "0"])
        if name in SCALARS:
            # A value that the compiler knows, or one that it does not know.
            text = f"({name}){SCALARS[name][2](self.random)}"
            return text if self.random.random() < 0.5 else f"({name})(opaque({text}))" if name == "int" else f"({text} + ({name})zero)" if name not in ("bool", "enum color") else text
        members = ", ".join(f"({m}){SCALARS[m][2](self.random)}" for m in self.structs[name])
        return f"{name}{{{members}}}" if self.cxx else f"(struct {name}){{{members}}}"

    def summed(self, name, expression):
        if name.endswith("*"):
            return f"({expression} ? *{expression} : 0)"
        if name in SCALARS:
            return f"(long){expression}"
        return f"(long){expression}.m{self.random.randrange(len(self.structs[name]))}"

    def any_type(self):
        roll = self.random.random()
        if roll < 0.25:
            return self.random.choice(sorted(self.structs, key=lambda s: int(s[1:])))
        if roll < 0.32:
            return "int*"
        return self.random.choice(list(SCALARS))

    # ---- bodies -------------------------------------------------------------------------------------------------------

    def call_of(self, function):
        arguments = ", ".join(self.value(t) for t in function["types"])
        return function["how"].format(arguments)

    def returned(self, f, expression):
        if f["result"] == "void":
            return "LEAVE();"
        printed = ", ".join(self.printed(f["result"], "result_"))
        return f'RETURN({self.type_name(f["result"])}, "{self.conversion(f["result"])}", ({printed}), {expression});'

    def statements(self, f):
        r, names, out = self.random, f["names"], []
        whole = [n for n, t in zip(names, f["types"]) if t in ("int", "long", "short", "unsigned", "unsigned long")]
        if whole and r.random() < 0.25:
            # A loop whose head can be the function's entry.
            n = r.choice(whole)
            out.append(f"unsigned left = (unsigned){n} % 5; do {{ sink += left; }} while (left-- > 1);")
        used = [(n, t) for n, t in zip(names, f["types"]) if r.random() < 0.85]
        out.append("sink += " + " + ".join([str(f["number"] + 1), *(self.summed(t, n) for n, t in used)]) + ";")
        if whole and r.random() < 0.3:
            n = r.choice(whole)
            out.append(f"{n} += {r.randrange(1, 9)}; sink += {n};")
        if names and r.random() < 0.2:
            out.append(f"escape(&{r.choice(names)});")
        if whole and r.random() < 0.2:
            n = r.choice(whole)
            out.append(f"for (int i = 0; i < ((int){n} & 7); i++) sink ^= i + {n};")
        if whole and r.random() < 0.15:
            n = r.choice(whole)
            out.append(f"switch ((unsigned){n} % 4) {{ case 0: sink += 3; break; case 1: sink ^= 9; break; case 2: sink -= 1; break; default: sink += {n}; }}")
        if whole and r.random() < 0.25:
            n = r.choice(whole)
            early = self.returned(f, self.value(f["result"]) if f["result"] != "void" else "")
            out.append(f"if ({n} == 7) {{ sink++; {early} }}")
        if r.random() < 0.1:
            out.append("volatile int room[40]; room[0] = 1; room[39] = room[0]; sink += room[39];")
        return out

    def callees(self, f):
        """Calls of earlier functions, so that there is no recursion and the number of calls is limited."""
        out = []
        for callee in self.random.sample(self.functions, min(len(self.functions), self.random.choice([0, 1, 1, 2]))):
            if f["cost"] + callee["cost"] <= 12:
                f["cost"] += callee["cost"]
                out.append(callee)
        return out

    def body(self, f):
        out = self.statements(f)
        callees = self.callees(f)
        same = [c for c in callees if c["result"] == f["result"]]
        last = ""
        if same and self.random.random() < 0.6:
            callees.remove(same[0])
            call = self.call_of(same[0])
            last = self.returned(f, call) if f["result"] != "void" else f"TAIL({call});"
        for callee in callees:
            out.append(f"{self.call_of(callee)};")
            if self.random.random() < 0.5:
                out.append("sink++;")
        self.random.shuffle(out) if self.random.random() < 0.3 and not any("left" in s for s in out) else None
        if not last:
            of_result = [n for n, t in zip(f["names"], f["types"]) if t == f["result"]]
            value = self.random.choice(of_result) if of_result else self.value(f["result"]) if f["result"] != "void" else ""
            last = self.returned(f, value)
        return out + [last]

    # ---- functions ----------------------------------------------------------------------------------------------------

    def signature(self, number):
        r = self.random
        count = r.choice([0, 1, 1, 2, 2, 3, 4, 5, 7, 9, 12])
        return {"number": number, "types": [self.any_type() for _ in range(count)], "names": [f"p{i}" for i in range(count)],
                "result": r.choice(["void", "int", "long", self.any_type(), self.any_type()]), "cost": 1}

    def entry(self, f):
        text = " ".join(f"{n}={self.conversion(t)}" for n, t in zip(f["names"], f["types"]))
        printed = "".join(", " + p for n, t in zip(f["names"], f["types"]) for p in self.printed(t, n))
        return f'ENTER("{f["name"]}", "{text}"{printed});'

    def parameters(self, f):
        return ", ".join(f"{self.type_name(t)} {n}" for n, t in zip(f["names"], f["types"]))

    def define(self, f, head):
        body = "\n".join("    " + line for line in [self.entry(f), *self.body(f)])
        return f"{head}\n{{\n{body}\n}}\n"

    def plain_function(self, f):
        r = self.random
        kind = r.choice(["", "", "static ", "static ", "static inline ", "NOINLINE static ", "NOINLINE ", "ALWAYS_INLINE static inline ", "COLD static "])
        f["name"] = f"f{f['number']}"
        f["how"] = f["name"] + "({})"
        text = ""
        if not kind.startswith("ALWAYS") and r.random() < 0.12:
            f["how"] = f"pointer_{f['name']}({{}})"
        elif r.random() < 0.15:
            f["how"] = f["name"] + "({})"
        head = f"{kind}{self.type_name(f['result'])} {f['name']}({self.parameters(f) or ('' if self.cxx else 'void')})"
        text += self.define(f, head)
        if f["how"].startswith("pointer"):
            types = ", ".join(self.type_name(t) for t in f["types"]) or ("" if self.cxx else "void")
            text += f"static {self.type_name(f['result'])} (*volatile pointer_{f['name']})({types}) = {f['name']};\n"
        return text

    def method(self, f):
        """In a class of its own: virtual, static, const or plain; the object has a member that is used."""
        r, name = self.random, f"C{f['number']}"
        kind = r.choice(["", "virtual ", "static ", "const", "NOINLINE ", "thunk"])
        f["name"] = f"shop::{name}::m"
        virtual = kind in ("virtual ", "thunk")
        prefix = "virtual " if kind == "thunk" else kind if kind != "const" else ""
        head = f"    {prefix}{f['result']} m({self.parameters(f)}){' const' if kind == 'const' else ''}{' override' if kind == 'thunk' else ''}"
        definition = self.define(f, head).replace("sink += ", "sink += member + ", 1 if kind != "static " else 0)
        types = ", ".join(t for t in f["types"])
        if kind == "thunk":
            base = (f"struct B{f['number']}a {{ virtual long other() {{ return 1; }} long room = 3; }};\n"
                    f"struct B{f['number']}b {{ virtual {f['result']} m({types}) = 0; long more = 4; }};\n")
            text = f"{base}struct {name} : B{f['number']}a, B{f['number']}b {{\n    int member = {f['number']};\n{definition}}};\n"
            access = f"static B{f['number']}b *volatile object_{f['number']} = new {name};\n"
        else:
            text = f"struct {name} {{\n    int member = {f['number']};\n{definition}}};\n"
            access = f"static {name} *volatile object_{f['number']} = new {name};\n" if virtual else f"static {name} object_{f['number']};\n"
        f["how"] = f"shop::object_{f['number']}{'->' if virtual else '.'}m({{}})"
        return f"namespace shop {{\n{text}{access}}}\n"

    def template(self, f):
        """An additional parameter of the template's type; the template is instantiated once with one of several types."""
        of = self.random.choice(["int", "long", "double", "unsigned char", "S2", "S9"])
        f["types"].append(of)
        f["names"].append("extra")
        f["name"] = f"shop::t{f['number']}<{of if of != 'unsigned' else 'unsigned int'}>"
        f["how"] = f"shop::t{f['number']}<{of}>({{}})"
        parameters = ", ".join([*(f"{t} {n}" for n, t in list(zip(f["names"], f["types"]))[:-1]), "T extra"])
        head = f"template <class T> {self.random.choice(['', 'NOINLINE ', 'static '])}{f['result']} t{f['number']}({parameters})"
        return f"namespace shop {{\n{self.define(f, head)}}}\n"

    def program(self):
        head = f'#include "truth.h"\n\nenum color {{ RED, GREEN, BLUE }};\nstatic int cells[4] = {{1, 2, 3, 4}};\n'
        for name, members in self.structs.items():
            head += f"struct {name} {{ {' '.join(f'{m} m{i};' for i, m in enumerate(members))} }};\n"
        parts = [head]
        for number in range(self.count):
            f = self.signature(number)
            kinds = [self.plain_function] + ([self.method, self.template] if self.cxx else [])
            parts.append(self.random.choice(kinds)(f))
            self.functions.append(f)
        calls = [f"    {self.call_of(f)};" for f in self.functions for _ in range(self.random.choice([1, 1, 2]))]
        self.random.shuffle(calls)
        parts.append("int main(void)\n{\n" + "\n".join(calls) + "\n    return 0;\n}\n")
        return "\n".join(parts)


def generate(seed, functions, cxx):
    return Generator(seed, functions, cxx).program()


if __name__ == "__main__":
    import sys
    print(generate(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3] == "c++"))
