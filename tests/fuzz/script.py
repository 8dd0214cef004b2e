"""Random scripts for tests/fuzz/differential: well-typed, over the whole language, and always terminating.

A script is a tree, so that the reducer can remove parts of it. A Node's `kind` tells what may replace it: "long" and
"string" are expressions; "statement" and "block" are what they say; "fixed" is text that remains as long as its
surroundings. Nothing in a script depends on time, tasks or addresses, so both places must print the same.
"""
import random

LONGS = ["0", "1", "2", "3", "7", "8", "10", "31", "32", "63", "64", "65", "100", "127", "128", "255", "256", "1000", "65535",
         "0x7fffffff", "0x80000000", "0xffffffff", "0x100000000", "0x7fffffffffffffff", "0x8000000000000000",
         "0xffffffffffffffff", "010", "1000000007", "123456789012345678"]
STRINGS = ['""', '"a"', '"b"', '"ab"', '"abc"', '"abcabc"', '"0"', '"1"', '"-12"', '"0x1f"', '"077"', '" 42 x"',
           '"one two,three"', '"a=1;b=22"', '"aaaaaaaaaaaaaaaa"', r'"tab\there"', r'"\"q\"\\"', r'"\001\177\377"',
           r'"caf\303\244\n"', '"%d %s"',
           '"zzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzz"', '"9223372036854775808"', '"x,y,,z"', '","']
BINARY = ["+", "-", "*", "/", "%", "&", "|", "^", "<<", ">>", ">>>", "<", "<=", ">", ">=", "==", "!=", "&&", "||"]
ASSIGN = ["=", "=", "=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>="]
COMPARE = ["<", "<=", ">", ">=", "==", "!="]
# Functions of the library: name, result, parameters. "small" is a long near zero.
LIBRARY = [
    ("strlen", "long", ["string"]), ("isinstr", "long", ["string", "string"]), ("strpos", "long", ["string", "string"]),
    ("stringat", "long", ["string", "small"]), ("strtol", "long", ["string", "base"]), ("isdigit", "long", ["string"]),
    ("substr", "string", ["string", "small", "small"]), ("str_replace", "string", ["string", "string", "string"]),
    ("tokenize", "string", ["string", "string"]), ("tokenize", "string", ["string"]), ("text_str", "string", ["string"]),
    ("string_quoted", "string", ["string"]), ("text_strn", "string", ["string", "small", "long"]),
    ("bytes_to_string", "string", ["long"]), ("msecs_to_string", "string", ["long"]), ("nsecs_to_string", "string", ["long"]),
    ("ip_ntop", "string", ["long"]), ("htonll", "long", ["long"]), ("ntohs", "long", ["long"]),
    ("ctime", "string", ["seconds"]), ("errno_str", "string", ["small"]), ("MKDEV", "long", ["long", "long"]), ("matched", "string", ["small"]),
    ("matched_str", "string", []), ("ngroups", "long", []),
]
RISKY = {"stringat", "matched", "matched_str", "ngroups", "ctime"}


class Node:
    def __init__(self, kind, *parts):
        self.kind, self.parts = kind, list(parts)

    def text(self):
        if self.kind == "block":
            return "{\n" + "".join(part.text() + ";\n" for part in self.parts) + "}"
        return "".join(part if isinstance(part, str) else part.text() for part in self.parts)


class Array:
    """An array, or without keys a scalar statistic: its value type, and the histogram and the shift with which it is read. `known`: its keys are
    constants, for which keys in memory need less room."""

    def __init__(self, name, keys, value, histogram, shift, known=False):
        self.name, self.keys, self.value, self.histogram, self.shift = name, keys, value, histogram, shift
        self.known = known


class Function:
    def __init__(self, name, result, params, recursive):
        self.name, self.result, self.params, self.recursive = name, result, params, recursive
        self.changes = set()  # names of the arrays that the call may change
        self.loops = 0        # the function may call itself within this many loops


class Scope:
    """A place where statements are generated: the names in scope, and restrictions."""

    def __init__(self, longs, strings, functions, function=None):
        self.longs, self.strings, self.functions, self.function = longs, strings, functions, function
        self.known = []         # variables of loops over arrays with known keys
        self.frozen = set()     # arrays of the enclosing foreach loops
        self.loops = 0          # enclosing loops in this handler or function
        self.depth = 0          # enclosing blocks
        self.risky = False      # whether the current statement can fail
        self.changes = set()    # arrays changed


class Script:
    """One script, generated from a seed: `text()`, and its options."""

    def __init__(self, seed, size=8):
        self.random = random.Random(seed)
        self.size = size
        self.next_name = 0
        self.root = Node("script")
        self.options = self.make_options()
        self.make_globals()
        self.root.parts.append(self.make_types())
        functions = self.make_functions()
        for order in range(self.random.randint(2, 5)):
            self.root.parts.append(self.make_probe(order, functions))
        self.root.parts.append(Node("fixed", "probe begin(1000) { exit() }"))

    def text(self):
        return "".join(part.text() + "\n" for part in self.root.parts)

    # ---- choices ---------------------------------------------------------------------------------------------------

    def chance(self, percent):
        return self.random.randrange(100) < percent

    def pick(self, values):
        return self.random.choice(values)

    def fresh(self, prefix):
        self.next_name += 1
        return f"{prefix}{self.next_name}"

    def make_options(self):
        options = ["-DMAXERRORS=100"] if self.chance(80) else []
        if self.chance(40):
            options.append(f"-DMAXSTRINGLEN={self.pick([16, 32, 64, 128, 1024])}")
        if self.chance(10):
            options.append(f"-DMAXNESTING={self.pick([2, 5, 30])}")
        if self.chance(10):
            options.append(f"-DMAXACTION={self.pick([20, 100, 5000])}")
        if self.chance(15):
            options.append(f"-DMAXMAPENTRIES={self.pick([1, 3, 16])}")
        return options

    # ---- declarations ----------------------------------------------------------------------------------------------

    def declare(self, text):
        self.root.parts.append(Node("declaration", "global " + text))

    def make_globals(self):
        self.globals = {"long": [], "string": []}
        for _ in range(3):
            name = self.fresh("g")
            self.globals["long"].append(name)
            self.declare(name + (" = " + self.pick(LONGS) if self.chance(70) else ""))
            name = self.fresh("t")
            self.globals["string"].append(name)
            self.declare(name + (" = " + self.pick(STRINGS) if self.chance(70) else ""))
        self.stats = []
        for _ in range(2):
            array = Array(self.fresh("s"), [], "stats", self.make_histogram(), self.make_shift())
            self.stats.append(array)
            self.declare(array.name)
        self.arrays = []
        for value in ["long", "string", "stats", self.pick(["long", "string", "stats"])]:
            keys = [self.pick(["long", "string"]) for _ in range(self.pick([1, 1, 1, 2, 2, 3, 5]))]
            array = Array(self.fresh("a"), keys, value, self.make_histogram(), self.make_shift(), self.chance(40))
            self.arrays.append(array)
            # All elements of a foreach in the kernel must fit into memory (docs/language.md).
            size = "" if self.chance(30) and keys == ["long"] and value != "string" else f"[{self.pick([1, 2, 3, 5, 20])}]"
            self.declare(array.name + size + ("%" if self.chance(20) else ""))

    def make_types(self):
        """A handler that never runs and determines the types of globals."""
        statements = [Node("statement", name + " = 0") for name in self.globals["long"]]
        statements += [Node("statement", name + ' = ""') for name in self.globals["string"]]
        for array in self.stats + self.arrays:
            keys = ", ".join("0" if kind == "long" else '""' for kind in array.keys)
            added = {"long": " = 0", "string": ' = ""', "stats": " <<< 0"}[array.value]
            statements.append(Node("statement", array.name + (f"[{keys}]" if keys else "") + added))
        return Node("declaration", "probe never ", Node("block", *statements))

    def make_histogram(self):
        """The name and further arguments of an operator."""
        if self.chance(50):
            return "@hist_log", ""
        low, width = self.random.randint(-50, 50), self.random.randint(1, 20)
        return "@hist_linear", f", {low}, {low + width * self.random.randint(1, 12)}, {width}"

    def make_shift(self):
        return self.pick(["", "", ", 0", ", 3", ", 10"])

    def make_functions(self):
        functions = []
        for _ in range(self.random.randint(0, 4)):
            params = [(self.fresh("p"), self.pick(["long", "string"])) for _ in range(self.random.randint(0, 4))]
            recursive = self.chance(35)
            if recursive:
                params.insert(0, (self.fresh("n"), "long"))
            function = Function(self.fresh("f"), self.pick(["long", "string"]), params, recursive)
            scope = self.make_scope([name for name, kind in params if kind == "long"],
                                    [name for name, kind in params if kind == "string"], list(functions), function)
            scope.depth = 1
            body = Node("block", *self.initial(scope))
            if recursive and self.chance(50):  # changes no array, so it may call itself in a foreach
                function.loops = 1
                scope.frozen = {a.name for a in self.stats + self.arrays}
            if recursive:
                scope.longs.remove(params[0][0])
                last = self.expression(function.result, scope, 2)
                body.parts.append(Node("statement", f"if ({params[0][0]} <= 0) return ", last))
                scope.functions.append(function)
            body.parts += self.statements(scope, self.random.randint(1, max(1, self.size // 3)))
            body.parts.append(Node("statement", "return ", self.expression(function.result, scope, 3)))
            function.changes = scope.changes
            signature = ", ".join(f"{name}:{kind}" for name, kind in params)
            self.root.parts.append(Node("declaration", f"function {function.name}:{function.result}({signature}) ", body))
            functions.append(function)
        return functions

    def make_probe(self, order, functions):
        scope = self.make_scope([], [], functions)
        body = Node("block", *self.initial(scope), *self.statements(scope, self.random.randint(2, max(2, self.size))))
        point = f"begin({order})" if self.chance(85) else self.pick(["end", "error", "oneshot"])
        return Node("declaration", f"probe {point} ", body)

    def make_scope(self, longs, strings, functions, function=None):
        longs = longs + [self.fresh("i") for _ in range(2)]
        strings = strings + [self.fresh("w") for _ in range(2)]
        return Scope(longs, strings, functions, function)

    def initial(self, scope):
        """Initial values of the locals, which determine their types."""
        return [Node("statement", name, " = ", self.literal("long")) for name in scope.longs if name[0] == "i"] + \
               [Node("statement", name, " = ", self.literal("string")) for name in scope.strings if name[0] == "w"]

    # ---- expressions -----------------------------------------------------------------------------------------------

    def literal(self, kind):
        if kind == "string":
            return Node("string", self.pick(STRINGS))
        return Node("long", self.pick(LONGS) if self.chance(70) else str(self.random.randint(0, 20)))

    def expression(self, kind, scope, depth):
        return self.string(scope, depth) if kind == "string" else self.long(scope, depth)

    def small(self, scope, depth):
        if self.chance(60):
            return Node("long", str(self.random.randint(-1, 12)))
        if self.chance(70):
            return Node("long", "(", self.long(scope, depth - 1), " & ", self.pick(["3", "7", "15", "63"]), ")")
        return self.long(scope, depth - 1)

    def argument(self, kind, scope, depth):
        if kind == "small":
            return self.small(scope, depth)
        if kind == "base":
            return Node("long", self.pick(["0", "2", "8", "10", "16", "36"])) if self.chance(80) else self.long(scope, depth)
        if kind == "seconds":
            return Node("long", "(", self.long(scope, depth), " & 0xffffffff)")
        return self.expression(kind, scope, depth)

    def library_call(self, kind, scope, depth):
        name, result, params = self.pick([row for row in LIBRARY if row[1] == kind])
        scope.risky |= name in RISKY
        return self.call_node(result, name, [self.argument(param, scope, depth - 1) for param in params])

    def call_node(self, result, name, arguments):
        parts = []
        for argument in arguments:
            parts += [", ", argument] if parts else [argument]
        return Node(result, name + "(", *parts, ")")

    def call(self, result, scope, depth):
        """A call of one of the script's functions, or None."""
        usable = [f for f in scope.functions if f.result == result and not f.changes & scope.frozen]
        own = scope.function
        if own and (scope.loops > own.loops or (scope.frozen and not own.loops)):
            # The changes of a recursive function are unknown so far, and loops multiply.
            usable = [f for f in usable if f is not own]
        if not usable:
            return None
        function = self.pick(usable)
        scope.changes |= function.changes
        scope.risky = True
        arguments = [self.expression(kind, scope, depth - 1) for _, kind in function.params]
        if function.recursive:
            arguments[0] = (Node("fixed", function.params[0][0] + " - 1") if function is own else
                            Node("long", str(self.random.randint(0, 4))))
        return self.call_node(result, function.name, arguments)

    def element(self, array, scope, depth):
        return Node("fixed", array.name, *self.subscript(array, scope, depth))

    def subscript(self, array, scope, depth, stars=False):
        parts = ["["]
        for i, kind in enumerate(array.keys):
            parts.append(", " if i else "")
            if stars and self.chance(40):
                parts.append("*")
            elif array.known:
                parts.append(self.known_key(kind, scope))
            elif kind == "long":
                parts.append(Node("long", str(self.random.randint(0, 4))) if self.chance(70) else self.long(scope, depth - 1))
            else:
                key = Node("string", self.pick(['"a"', '"b"', '"c"']))
                parts.append(key if self.chance(70) else self.string(scope, depth - 1))
        return [*parts, "]"]

    def known_key(self, kind, scope):
        if kind == "long":
            return Node("long", str(self.pick([0, 1, 2, -1, 3000000000])) if self.chance(70) else f"({self.pick(scope.longs)} & 3)")
        return Node("string", self.pick(scope.known) if scope.known and self.chance(40) else
                    self.pick(STRINGS) if self.chance(20) else self.pick(['"a"', '"b"', "pp()", "ppfunc()", '"A"']))

    def read(self, kind, scope, depth):
        """The value of a variable."""
        arrays = [a for a in self.arrays if a.value == kind]
        if arrays and self.chance(30):
            return Node(kind, self.element(self.pick(arrays), scope, depth))
        names = scope.longs if kind == "long" else scope.strings
        return Node(kind, self.pick(names + self.globals[kind]))

    def aggregate(self, scope, depth):
        array = self.pick(self.stats + [a for a in self.arrays if a.value == "stats"])
        return array, (self.element(array, scope, depth) if array.keys else Node("fixed", array.name))

    def extract(self, scope, depth):
        array, value = self.aggregate(scope, depth)
        operator = self.pick(["count", "sum", "min", "max", "avg", "variance", "percentile", "histogram"])
        scope.risky |= operator not in ("count", "sum")
        if operator == "variance":
            return Node("long", "@variance(", value, array.shift, ")")
        if operator == "percentile":
            return Node("long", "@percentile(", value, self.pick([", 0)", ", 50)", ", 99.9)", ", 100)"]))
        if operator == "histogram":
            name, bins = array.histogram
            return Node("long", name + "(", value, bins + ")[", self.small(scope, depth), "]")
        return Node("long", f"@{operator}(", value, ")")

    def long(self, scope, depth):
        if depth <= 0:
            return self.literal("long") if self.chance(40) else self.read("long", scope, 0)
        choice = self.random.randrange(100)
        if choice < 12:
            return self.literal("long")
        if choice < 28:
            return self.read("long", scope, depth)
        if choice < 55:
            operator = self.pick(BINARY)
            scope.risky |= operator in "/%"
            return Node("long", "(", self.long(scope, depth - 1), f" {operator} ", self.long(scope, depth - 1), ")")
        if choice < 60:
            return Node("long", self.pick(["(- ", "(~ ", "(! ", "(+ "]), self.long(scope, depth - 1), ")")
        if choice < 65:
            operator = self.pick(COMPARE)
            return Node("long", "(", self.string(scope, depth - 1), f" {operator} ", self.string(scope, depth - 1), ")")
        if choice < 69:
            return self.ternary("long", scope, depth)
        if choice < 78:
            return self.library_call("long", scope, depth)
        if choice < 82:
            return self.call("long", scope, depth) or self.read("long", scope, depth)
        if choice < 87:
            return self.extract(scope, depth)
        if choice < 91:
            array = self.pick(self.arrays)
            if len(array.keys) == 1:
                return Node("long", "(", *self.subscript(array, scope, depth, stars=False), f" in {array.name})")
            return Node("long", "(", *self.subscript(array, scope, depth, stars=True), f" in {array.name})")
        if choice < 95:
            return Node("long", "(", self.string(scope, depth - 1), self.pick([" =~ ", " =~ ", " !~ "]), f'"{self.regex(3)}")')
        return self.change("long", scope, depth)

    def string(self, scope, depth):
        if depth <= 0:
            return self.literal("string") if self.chance(40) else self.read("string", scope, 0)
        choice = self.random.randrange(100)
        if choice < 12:
            return self.literal("string")
        if choice < 32:
            return self.read("string", scope, depth)
        if choice < 50:
            return Node("string", "(", self.string(scope, depth - 1), " . ", self.string(scope, depth - 1), ")")
        if choice < 70:
            return self.library_call("string", scope, depth)
        if choice < 75:
            return self.ternary("string", scope, depth)
        if choice < 80:
            return self.call("string", scope, depth) or self.read("string", scope, depth)
        if choice < 95:
            return self.printed("s", "string", scope, depth - 1)
        return self.change("string", scope, depth)

    def ternary(self, kind, scope, depth):
        return Node(kind, "(", self.long(scope, depth - 1), " ? ", self.expression(kind, scope, depth - 1), " : ",
                    self.expression(kind, scope, depth - 1), ")")

    def change(self, kind, scope, depth):
        """An assignment as an expression."""
        target = self.target(kind, scope, depth)
        if kind == "string":
            return Node(kind, "(", target, self.pick([" = ", " .= "]), self.string(scope, depth - 1), ")")
        if self.chance(40):
            step = self.pick(["++", "--"])
            return Node(kind, "(", *((step, target) if self.chance(50) else (target, step)), ")")
        operator = self.pick(ASSIGN)
        scope.risky |= operator in ("/=", "%=")
        return Node(kind, "(", target, f" {operator} ", self.long(scope, depth - 1), ")")

    def target(self, kind, scope, depth):
        arrays = [a for a in self.arrays if a.value == kind and a.name not in scope.frozen]
        if arrays and self.chance(40):
            array = self.pick(arrays)
            scope.changes.add(array.name)
            scope.risky = True
            return self.element(array, scope, depth)
        names = scope.longs if kind == "long" else scope.strings
        return Node("fixed", self.pick([n for n in names if n[0] not in "kn"] + self.globals[kind]))

    def regex(self, depth):
        if depth <= 0:
            return self.pick(["a", "b", "c", "0", "x", ".", "[a-c]", "[^b]", "[0-9]", "[[:alpha:]]", "\\\\.", ","])
        choice = self.random.randrange(10)
        if choice < 5:
            return self.regex(depth - 1) + self.regex(depth - 2)
        if choice < 7:
            return "(" + self.regex(depth - 1) + ")" + self.pick(["", "*", "+", "?", "{1,2}"])
        if choice < 8:
            return "(" + self.regex(depth - 1) + "|" + self.regex(depth - 1) + ")"
        if choice < 9:
            return self.pick(["^", ""]) + self.regex(depth - 1) + self.pick(["$", ""])
        return self.regex(0) + self.pick(["*", "+", "?", "{2}"])

    # ---- printing --------------------------------------------------------------------------------------------------

    def printed(self, prefix, kind, scope, depth):
        """print() and similar functions; with the prefix "s", expressions that return the text."""
        choice = self.random.randrange(10)
        ending = self.pick(["", "ln"])
        values = [self.expression(self.pick(["long", "string"]), scope, depth) for _ in range(self.random.randint(1, 3))]
        if choice < 3:
            return self.call_node(kind, f"{prefix}print{ending}", values)
        if choice < 5:
            values.append(self.literal("long"))
            return self.call_node(kind, f"{prefix}printd{ending}", [Node("fixed", self.pick(['"|"', '", "', '""'])), *values])
        text, values = "", []
        for _ in range(self.random.randint(1, 4)):
            text += self.pick(["", "[", "%% ", "-> ", "\\n"])
            directive, arguments = self.directive(scope, depth)
            text += directive
            values += arguments
        end = "\\n" if prefix == "" and self.chance(80) else ""
        return self.call_node(kind, prefix + "printf", [Node("fixed", f'"{text}{end}"'), *values])

    def directive(self, scope, depth):
        conversion = self.pick("dddiuxXopccsssssb")
        flag = self.pick(["", "", "", "-", "0", "+", " ", "#"])
        if conversion == "b":
            return "%" + self.pick(["1", "2", "4", "8", ""]) + "b", [self.long(scope, depth)]
        if conversion == "s" and flag == "0":  # appends a NUL
            flag = ""
        text, arguments = "%" + flag, []
        for prefix, most in (("", 30), (".", 20)):
            if self.chance(35):
                if self.chance(25):
                    text += prefix + "*"
                    arguments.append(Node("long", "(", self.long(scope, depth - 1), " & 31)"))
                else:
                    text += prefix + str(self.random.randint(1, most))
        arguments.append(self.expression("string" if conversion == "s" else "long", scope, depth))
        return text + conversion, arguments

    # ---- statements ------------------------------------------------------------------------------------------------

    def statements(self, scope, count):
        scope.depth += 1
        made = [self.guarded(scope) for _ in range(count)]
        scope.depth -= 1
        return made

    def block(self, scope):
        return Node("block", *self.statements(scope, self.random.randint(1, 3)))

    def guarded(self, scope):
        """A statement; if it can fail, an error is usually caught."""
        before, scope.risky = scope.risky, False
        statement = self.statement(scope)
        if scope.risky and self.chance(85):
            statement = Node("statement", "try ", Node("block", statement), ' catch (m) { println("caught ", m) }')
            scope.risky = before
        scope.risky |= before
        return statement

    def statement(self, scope):
        deep = scope.depth > 3
        choice = self.random.randrange(100)
        if all(a.name in scope.frozen for a in self.stats + self.arrays) and (42 <= choice < 57 or deep and 42 <= choice < 80):
            choice = 30
        if choice < 30:
            return Node("statement", self.printed("", "fixed", scope, 3))
        if choice < 42:
            return Node("statement", self.change(self.pick(["long", "string"]), scope, 3))
        if choice < 54 or deep and choice < 80:
            return self.fill(scope)
        if choice < 57:
            return self.delete(scope)
        if choice < 60:
            array, value = self.aggregate(scope, 1)
            scope.risky = True
            name, bins = array.histogram
            return Node("statement", f"print({name}(", value, bins + "))")
        if choice < 63:
            kind = self.pick(["long", "string"])
            return Node("statement", self.call(kind, scope, 2) or self.expression(kind, scope, 2))
        if deep:
            return Node("statement", "println(", self.long(scope, 2), ")")
        if choice < 71:
            otherwise = [" else ", self.block(scope)] if self.chance(40) else []
            return Node("statement", "if (", self.long(scope, 3), ") ", self.block(scope), *otherwise)
        if choice < 80:
            return self.loop(scope)
        if choice < 90:
            return self.foreach(scope)
        if choice < 94:
            rest = self.block(scope)
            return Node("statement", "try ", Node("block", *self.block(scope).parts, self.raise_error(scope)), " catch (e) ",
                        Node("block", Node("statement", "println(e)"), *rest.parts))
        return self.leave(scope)

    def raise_error(self, scope):
        return Node("statement", "if (", self.long(scope, 2), ") error(", self.string(scope, 2), ")")

    def leave(self, scope):
        ways = ["next"] if not scope.function else []
        ways += ["break", "continue"] if scope.loops else []
        if scope.function:
            return Node("statement", "if (", self.long(scope, 2), ") return ", self.expression(scope.function.result, scope, 2))
        return Node("statement", "if (", self.long(scope, 3), f") {self.pick(ways)}")

    def fill(self, scope):
        """Adds to a statistic or an array."""
        scope.risky = True
        arrays = [a for a in self.stats + self.arrays if a.name not in scope.frozen]
        array = self.pick(arrays)
        value = self.element(array, scope, 2) if array.keys else Node("fixed", array.name)
        scope.changes.add(array.name)
        if array.value == "stats":
            added = self.long(scope, 2) if self.chance(40) else Node("long", str(self.random.randint(-60, 200)))
            return Node("statement", value, " <<< ", added)
        if array.value == "string":
            return Node("statement", value, self.pick([" = ", " .= "]), self.string(scope, 2))
        if self.chance(30):
            return Node("statement", value, self.pick(["++", "--"]))
        return Node("statement", value, f" {self.pick(ASSIGN)} ", self.long(scope, 2))

    def delete(self, scope):
        arrays = [a for a in self.stats + self.arrays if a.name not in scope.frozen]
        array = self.pick(arrays)
        scope.changes.add(array.name)
        if not array.keys or self.chance(25):
            return Node("statement", f"delete {array.name}")
        return Node("statement", f"delete {array.name}", *self.subscript(array, scope, 2, stars=len(array.keys) > 1))

    def loop(self, scope):
        counter, turns = self.fresh("k"), self.random.randint(1, 5)
        scope.longs.append(counter)
        scope.loops += 1
        if self.chance(60):
            made = Node("statement", f"for ({counter} = 0; {counter} < {turns}; {counter}++) ", self.block(scope))
        else:
            body = Node("block", Node("fixed", f"{counter}--"), *self.block(scope).parts)
            made = Node("statement", f"{counter} = {turns}; while ({counter} > 0) ", body)
        scope.loops -= 1
        return made

    def foreach(self, scope):
        array = self.pick(self.arrays)
        keys = [self.fresh("k") for _ in array.keys]
        value = self.fresh("k") if array.value != "stats" and self.chance(40) else None
        signs = [""] * (len(keys) + 2)
        if self.chance(60):
            signs[self.random.randrange(len(signs))] = self.pick(["+", "-"])
        if not value and signs[-2]:
            signs[-1], signs[-2] = signs[-2], ""
        names = ", ".join(name + sign for name, sign in zip(keys, signs))
        names = f"[{names}]" if len(keys) > 1 or self.chance(20) else names
        walked = Node("fixed", array.name)
        if array.value == "stats" and signs[-1] and self.chance(60):
            signs[-1] = f" @{self.pick(['count', 'sum', 'min', 'max', 'avg'])} {signs[-1]}"
        elif self.chance(25) and len(keys) > 1:
            walked = Node("fixed", array.name, *self.subscript(array, scope, 2, stars=True))
        limit = [" limit ", self.small(scope, 2)] if self.chance(30) else []
        head = [f"foreach ({value}{signs[-2]} = " if value else "foreach (", f"{names} in ", walked, signs[-1], *limit, ") "]
        for name, kind in zip(keys, array.keys):
            # Most of these variables are never written, so their values are known, too.
            known = kind == "string" and array.known
            (scope.longs if kind == "long" else scope.known if known and self.chance(70) else scope.strings).append(name)
        if value:
            (scope.longs if array.value == "long" else scope.strings).append(value)
        outer = array.name in scope.frozen
        scope.frozen.add(array.name)
        scope.loops += 1
        shown = [Node("string", f'sprint({name})') for name in keys + ([value] if value else [])]
        body = Node("block", Node("statement", self.call_node("fixed", "println", [Node("fixed", '"in "'), *shown])),
                    *self.block(scope).parts)
        scope.loops -= 1
        if not outer:
            scope.frozen.remove(array.name)
        return Node("statement", *head, body)
