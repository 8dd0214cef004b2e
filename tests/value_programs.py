"""C and C++ programs whose functions take parameters of all types, called with known values.

program(seed, count) returns a source, a script that prints each parameter at its function's entry, and the values. The same seed
gives the same program. The bodies make compilers do different things: parameters are unused, changed, needed on one path only, or
their address is taken; there are loops, calls and returns at the beginning.
"""
import dataclasses
import random
import typing


@dataclasses.dataclass
class Kind:
    """A type: its C declaration, a generator of values, and the script's expressions for it."""
    c: str
    make: typing.Callable  # (rng) -> the value in C, and the text of each field
    fields: list  # format, and suffix of the parameter's name: ("%d", "->x"); with "%s" the value is a text already
    declaration: str = ""


def integer(c, bits, signed):
    low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)

    def make(rng):
        value = rng.choice([low, high, 0, -1 if signed else 1, rng.randint(low, high), rng.randint(low, high)])
        text = f"({value + 1}LL - 1)" if value == -(1 << 63) else f"{value}{'LL' if signed else 'ULL'}"
        return f"({c}){text}", [str(value)]
    return Kind(c, make, [("%d" if signed else "%u", "")])


def quarter(rng):
    return rng.randint(-4000, 4000) / 4


def real(c):
    def make(rng):
        value = quarter(rng)
        return f"({c}){value}", [f"{value:.6f}"]
    return Kind(c, make, [("%s", "$")])


def complex_number(c):
    def make(rng):
        first, second = quarter(rng), quarter(rng)
        return f"({c})({first} + {second} * I)", [f"({first:.6f}, {second:.6f})"]
    return Kind(c, make, [("%s", "$")])


def bits(count, signed):
    low, high = (-(1 << count - 1), (1 << count - 1) - 1) if signed else (0, (1 << count) - 1)

    def make(rng):
        value = rng.randint(low, high)
        return str(value), [str(value)]
    return Kind("", make, [("%d", "")])


def record(name, declaration, **members):
    def make(rng):
        parts, texts = [], []
        for member, kind in members.items():
            part, text = kind.make(rng)
            parts.append(f".{member} = {part}")
            texts += text
        return f"(({name}){{{', '.join(parts)}}})", texts
    fields = [(form, f"->{member}{rest}") for member, kind in members.items() for form, rest in kind.fields]
    return Kind(name, make, fields, f"typedef {declaration} {name};")


def text_value(rng):
    text = f"t{rng.randint(0, 10**6)}"
    return f'"{text}"', [f'"{text}"']


def truth_value(rng):
    value = rng.randint(0, 1)
    return f"(_Bool){value}", [str(value)]


def wide_value(rng):
    value = rng.randint(-2**62, 2**62)
    return f"(__int128){value}LL", [str(value)]


I8, U8, I16, U16 = integer("signed char", 8, True), integer("unsigned char", 8, False), integer("short", 16, True), integer("unsigned short", 16, False)
I32, U32, I64, U64 = integer("int", 32, True), integer("unsigned", 32, False), integer("long", 64, True), integer("unsigned long", 64, False)
F32, F64, BOOL = real("float"), real("double"), Kind("_Bool", truth_value, [("%d", "")])
TEXT, I128 = Kind("const char *", text_value, [("%s", "$")]), Kind("__int128", wide_value, [("%s", "$")])
RECORDS = [
    record("s3", "struct { unsigned char r, g, b; }", r=U8, g=U8, b=U8),
    record("s4", "struct { short x, y; }", x=I16, y=I16),
    record("s5", "struct __attribute__((packed)) { int x; signed char y; }", x=I32, y=I8),
    record("s8", "struct { int a, b; }", a=I32, b=I32),
    record("s12", "struct { int a, b, c; }", a=I32, b=I32, c=I32),
    record("s16", "struct { long a, b; }", a=I64, b=I64),
    record("s24", "struct { long a, b; int c; }", a=I64, b=I64, c=I32),
    record("sif", "struct { int i; float f; }", i=I32, f=F32),
    record("sff", "struct { float f, g; }", f=F32, g=F32),
    record("sdi", "struct { double d; int i; }", d=F64, i=I32),
    record("sid", "struct { long i; double d; }", i=I64, d=F64),
    record("sdd", "struct { double d, e; }", d=F64, e=F64),
    record("s3f", "struct { float f, g, h; }", f=F32, g=F32, h=F32),
    record("sbits", "struct { unsigned a : 5; int b : 11; unsigned c : 16; int d; }", a=bits(5, False), b=bits(11, True), c=bits(16, False), d=I32),
    record("swide", "struct { unsigned long a : 40; long b : 20; }", a=bits(40, False), b=bits(20, True)),
    record("sptr", "struct { const char *p; unsigned n; }", p=TEXT, n=U32),
    record("uni", "union { long l; int i; char c[8]; }", l=I64),
    record("pkd", "struct __attribute__((packed)) { signed char c; long l; }", c=I8, l=I64),
]
SCALARS = [I8, U8, I16, U16, I32, I32, U32, I64, I64, U64, TEXT, BOOL, F64, F32]
COMPLEX = [complex_number("_Complex double"), complex_number("_Complex float")]

# {p} and {q} are parameters; `k` is one, of type int.
BODIES = [
    "sink += k;",
    "sink += k; USE({p});",
    "USE({p}); sink += k;",
    "if (k & 1) {{ sink += k; return k; }} USE({p}); sink++;",
    "for (int i = 0; i < (k & 3); i++) {{ sink += i; }} USE({p});",
    "touch(k); USE({p}); touch(k + 1);",
    "k = k * 3 + 1; sink += k; USE({p});",
    "sink += k; VALUE({p});",
    "touch(k); VALUE({p}); touch(1); VALUE({q});",
    "return touch(k + 1);",
    "int buffer[40]; keep(buffer); USE({p}); VALUE({q}); sink += buffer[k & 7];",
    "int turn = k & 3; do {{ sink += k; VALUE({p}); }} while (turn-- > 0);",
]

HEAD = """
#ifdef __cplusplus
#define _Bool bool
extern "C" {
#else
#include <complex.h>
#endif
volatile long sink; void *volatile psink;
__attribute__((noinline)) int touch(int n) { sink += n; __asm__ volatile("" ::: "memory"); return n; }
__attribute__((noinline)) void keep(void *p) { psink = p; __asm__ volatile("" ::: "memory"); }
#ifdef __cplusplus
}
#endif
#define USE(x) do { psink = (void *)&(x); __asm__ volatile("" ::: "memory"); } while (0)
#define VALUE(x) __asm__ volatile("" :: "m"(*(const char (*)[sizeof(x)])&(x)))
"""


def pick(rng, cxx):
    which = rng.random()
    if which < .55:
        return rng.choice(SCALARS)
    return rng.choice(RECORDS) if which < .95 else rng.choice([I128] if cxx else [I128, *COMPLEX])


def program(seed, count, cxx=False, all_used=False):
    """The source, the script (its argument is the program), and the expected text of each "FUNCTION FIELD". `all_used`: all parameters are used,
    because callers compiled by LLVM pass any value for an unused one."""
    rng = random.Random(seed)
    source, script, expected, calls = [HEAD, *(one.declaration for one in RECORDS)], [], {}, []
    for number in range(count):
        name = f"f{number}"
        kinds = [(f"p{i}", pick(rng, cxx)) for i in range(rng.randint(1, 6 if rng.random() < .8 else 12))]
        parameters = list(kinds)
        parameters.insert(rng.randint(0, len(kinds)), ("k", I32))
        body = rng.choice(BODIES).format(p=rng.choice(kinds)[0], q=rng.choice(kinds)[0])
        if all_used or rng.random() < .5:
            body = " ".join(f"VALUE({p});" for p, _ in kinds) + " " + body if rng.random() < .5 else body.replace("return touch", "k += touch") + " " + " ".join(f"VALUE({p});" for p, _ in kinds)
        linkage = rng.choice(["", "", "static "])
        source.append(f"{linkage}__attribute__((noinline)) int {name}({', '.join(f'{kind.c} {p}' for p, kind in parameters)}) {{ {body} return k; }}")
        arguments = []
        for p, kind in parameters:
            value, texts = kind.make(rng)
            if p == "k":
                value, texts = (lambda k: (str(k), [str(k)]))(rng.randint(0, 1000))
            if rng.random() < .2:
                arguments.append(value)  # a constant, which a compiler may inline
            else:
                source.append(f'static {kind.c} {name}_{p}(void) {{ {kind.c} one = {value}; __asm__ volatile("" : "+m"(one)); return one; }}')
                arguments.append(f"{name}_{p}()")
            for (form, rest), text in zip(kind.fields, texts):
                field = f"${p}{rest}"
                shown = field if form == "%s" else f'sprintf("{form}", {field})'
                script.append(f'probe process(@1).function("{name}") {{ printf("{name} {p}{rest} %s\\n", @defined({field}) ? {shown} : "?") }}')
                expected[f"{name} {p}{rest}"] = text
        calls.append(f"    {name}({', '.join(arguments)});")
    source.append("int main(void)\n{\n" + "\n".join(calls) + "\n    return 0;\n}")
    return "\n".join(source) + "\n", "\n".join(script) + "\n", expected
