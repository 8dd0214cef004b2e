<?php
// Writes its own stack at many places, and calls getppid() at the same moments, where tests/php_tests compares it with
// sonde's stack. Arguments: the file to write, then names of scenarios.
$out = fopen($argv[1], "a");

function note($value = null)
{
    global $out;
    posix_getppid();
    $frames = debug_backtrace(DEBUG_BACKTRACE_IGNORE_ARGS);
    // An entry has a function, and the position of its call. sonde's frames have a function and a position in it.
    $lines = [getmypid(), "posix_getppid"];
    $at = __FILE__ . ":" . (__LINE__ - 4);
    foreach ($frames as $frame) {
        $is_file = in_array($frame["function"], ["include", "include_once", "require", "require_once", "eval"]);
        $name = $is_file ? "<main>" : (isset($frame["class"]) ? strtok($frame["class"], "\0") . "::" : "") . $frame["function"];
        $lines[] = $name . ($at ? " [$at]" : "");
        $at = isset($frame["file"]) ? "$frame[file]:$frame[line]" : "";
    }
    if ($at) // otherwise PHP itself has called the outermost function
        $lines[] = "<main> [$at]";
    fwrite($out, implode("\n", $lines) . "\n\n");
    return $value;
}

class Shape
{
    public $size = 1;
    public static function make() { note(); return new static(); }
    public function __construct() { note(); }
    public function area() { return note(2); }
    public function __get($name) { note(); return $name; }
    public function __set($name, $value) { note(); }
    public function __isset($name) { return note(true); }
    public function __call($name, $arguments) { return note($name); }
    public static function __callStatic($name, $arguments) { return note($name); }
    public function __toString() { note(); return "shape"; }
    public function __invoke($x) { return note($x); }
    public function __clone() { note(); }
    public function __destruct() { note(); }
}

class Circle extends Shape
{
    use Round;
    public function __construct() { parent::__construct(); note(); }
    public function area() { return parent::area() + note(1); }
}

trait Round
{
    public function diameter() { return note(3); }
}

class Bag implements ArrayAccess, Countable, IteratorAggregate, JsonSerializable
{
    public function offsetExists($at): bool { return note(true); }
    public function offsetGet($at): mixed { return note($at); }
    public function offsetSet($at, $value): void { note(); }
    public function offsetUnset($at): void { note(); }
    public function count(): int { return note(2); }
    public function getIterator(): Iterator { note(); yield note(1); yield note(2); }
    public function jsonSerialize(): mixed { return note([1]); }
}

function numbers($n)
{
    note();
    for ($i = 0; $i < $n; $i++) {
        $got = yield note($i);
        note();
    }
    return note(7);
}

function delegates($n)
{
    note();
    $result = yield from numbers($n);
    note();
    yield $result;
}

function outermost($n)
{
    yield from delegates($n);
    yield from [1, 2];
    yield from delegates(1);
}

function many_lines()
{
    $a = 1;

    $b = [
        note(1),
        note(2), note(3),
    ];
    return note(
        $a + note(
            4
        )
    );
}

function deep($n)
{
    if ($n == 0) {
        note();
        return 0;
    }
    return $n % 10 ? deep($n - 1) : array_sum(array_map('deep', [$n - 1]));
}

$scenarios = [
    "functions" => function () {
        note();
        many_lines();
        $x = fn($y) => note($y);
        $x(1);
        (function () { note(); })();
        call_user_func('note');
        call_user_func_array('many_lines', []);
        $name = 'many_lines';
        $name();
        note(...)(1);
    },
    "methods" => function () {
        $a = Shape::make();
        $a->area();
        $a->missing;
        $a->missing = 1;
        isset($a->missing);
        $a->unknown(1);
        Shape::unknown_too(2);
        "$a";
        $a(1);
        $b = clone $a;
        $b = null;
        $c = new Circle();
        $c->area();
        $c->diameter();
        $anonymous = new class extends Shape { public function area() { return note(5); } };
        $anonymous->area();
        [$a, 'area']();
        (new ReflectionMethod('Circle', 'area'))->invoke($c);
    },
    "internal" => function () {
        array_map(fn($x) => note($x), [1, 2]);
        array_map('note', [1]);
        $list = [3, 1];
        usort($list, function ($a, $b) { note(); return $a <=> $b; });
        array_walk($list, function ($x) { array_filter([1], fn($y) => note($y)); });
        preg_replace_callback('/a/', fn($m) => note("b"), "aa");
        ob_start(fn($text) => note($text));
        echo "x";
        ob_end_clean();
        iterator_apply(new ArrayIterator([1]), fn() => note(true));
    },
    "objects" => function () {
        $bag = new Bag();
        $bag[1];
        $bag[2] = 3;
        isset($bag[3]);
        unset($bag[4]);
        count($bag);
        foreach ($bag as $x)
            note();
        json_encode($bag);
        iterator_to_array($bag);
    },
    "exceptions" => function () {
        try {
            array_map(function () { throw new Exception(note("x")); }, [1]);
        } catch (Exception $e) {
            note();
        } finally {
            note();
        }
        set_error_handler(function () { return note(true); });
        $undefined_index = [][1];
        restore_error_handler();
        try {
            (function () { $local = new Shape(); throw new Exception("y"); })();
        } catch (Exception $e) {
            note();
        }
    },
    "generators" => function () {
        foreach (numbers(2) as $x)
            note();
        foreach (delegates(2) as $x)
            note();
        foreach (outermost(1) as $x)
            note();
        $g = outermost(2);
        $g->current();
        $g->next();
        $g->send(4);
        iterator_to_array(delegates(1), false);
    },
    "fibers" => function () {
        $fiber = new Fiber(function ($x) {
            note();
            $y = Fiber::suspend(note(1));
            many_lines();
            $inner = new Fiber(function () { note(); Fiber::suspend(); note(); });
            $inner->start();
            $inner->resume();
        });
        $fiber->start(1);
        note();
        $fiber->resume(2);
        note();
    },
    "files" => function () {
        $path = tempnam("/tmp", "php_stacks");
        file_put_contents($path, "<?php\n\nnote();\nfunction in_file() { note(); }\nreturn in_file();\n");
        include $path;
        unlink($path);
        eval("note();\n\nmany_lines();");
        spl_autoload_register(function ($name) { note(); });
        class_exists("Absent");
    },
    "children" => function () {
        note();
        if (pcntl_fork() == 0) {
            many_lines();
            exit(0);
        }
        pcntl_wait($status);
        note();
    },
    "deep" => function () { deep(20); deep(300); },
];
register_shutdown_function(function () { note(); });
foreach (array_slice($argv, 2) as $name)
    $scenarios[$name]();
