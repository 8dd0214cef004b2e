// Writes its own stack at many places, and calls getppid() at the same moments, where tests/javascript_tests compares it
// with sonde's stack. Arguments: the file to write, then names of scenarios.
'use strict';
const fs = require('fs');
const vm = require('vm');
const { Worker, isMainThread, workerData } = require('worker_threads');

const [out, ...wanted] = isMainThread ? process.argv.slice(2) : workerData;
Error.stackTraceLimit = 200;

function note(value) {
  const [, ...frames] = [process.ppid, ...(new Error().stack.split('\n').slice(1))];
  fs.appendFileSync(out, [0, ...frames].join('\n') + '\n\n');
  return value;
}

class Shape {
  constructor() { note(); }
  area() { return note(2); }
  get size() { return note(1); }
  set size(value) { note(value); }
  static make() { note(); return new Shape(); }
  #hidden() { return note(5); }
  shown() { return this.#hidden(); }
  toString() { return note('shape'); }
}
class Circle extends Shape {
  constructor() { super(); note(); }
  area() { return super.area() + note(1); }
}

function* numbers(n) {
  note();
  for (let i = 0; i < n; i++)
    yield note(i);
}

function deep(n) {
  return n ? deep(n - 1) + 1 : note(0);
}

const scenarios = {
  functions() {
    function inner() { note(); }
    const arrow = () => { note(); };
    const made = function () { note(); };
    inner(); arrow(); made(); (() => note())();
    const a = note(1)
      + note(
        2);
    inner(
      a,
      note(3),
    );
    (function namedOne() { note(); })();
    new Function('note', 'note();\nnote();')(note);
    eval('note();\n  note()');
    (0, eval)('(note) => {\n\n note(); }')(note);
  },
  classes() {
    const shape = Shape.make(), circle = new Circle();
    shape.area(); circle.area(); shape.size = shape.size + 1; shape.shown(); `${shape}`;
  },
  called_by_v8() {
    [2, 1].forEach((x) => note(x));
    [3, 2, 1].sort((a, b) => note(a - b));
    [1].map(note);
    'a-b'.replace(/-/, () => note('+'));
    JSON.stringify({ toJSON() { return note(1); } });
    JSON.parse('[1]', (key, value) => note(value));
    Reflect.apply(note, null, []);
    note.call(null); note.apply(null, []); note.bind(null)();
    new Proxy({}, { get() { return note(1); } }).x;
    new Map([[1, 2]]).forEach(() => note());
    for (const n of numbers(2)) note(n);
    [...numbers(1)];
  },
  texts() {
    const größe = () => note(), 変数 = () => note(), ключ = () => note();
    größe(); 変数(); ключ();
    vm.runInThisContext(`(note) => (function ${'f'.repeat(300)}() { note(); })()`, { filename: 'long.js' })(note);
    vm.runInThisContext('(note) => {\n  note();\r\n\n note();\r note(); }', { filename: 'größe.js', lineOffset: 10 })(note);
    vm.runInThisContext('(note) => {\n  const x = "変";\u2028 note();\n note(); }', { filename: '変.js' })(note);
    vm.runInThisContext(`${'// a comment that fills the file\n'.repeat(3000)}(note) => {\n  note(); }`, { filename: '/a/very/' + 'long/'.repeat(80) + 'name.js' })(note);
  },
  deep() {
    deep(5); deep(60); deep(150);
  },
  collected() {
    for (let i = 0; i < 200; i++) {
      const list = [];
      for (let j = 0; j < 2000; j++) list.push({ j, text: `${j}` });
      new Function('note', `return function made_${i % 7}() {${'\n'.repeat(i % 5)} note(); }`)(note)();
      if (global.gc && i % 20 === 0) gc();
    }
  },
  wasm() {
    // (module (import "m" "f" (func)) (func (export "g") call 0))
    const code = Buffer.from('0061736d01000000010401600000020701016d0166000003020100070501016700010a0601040010000b', 'hex');
    new WebAssembly.Instance(new WebAssembly.Module(code), { m: { f: () => note() } }).exports.g();
  },
  workers() {
    new Worker(__filename, { workerData: [out, 'classes', 'deep'] });
  },
  async waiting() {
    await null; note();
    await new Promise((done) => setTimeout(function late() { note(); done(); }, 1));
    note();
    process.nextTick(function next() { note(); });
    setImmediate(function later() { note(); });
  },
  exceptions() {
    try { throw note(new Error('x')); } catch { note(); } finally { note(); }
  },
};
for (const name of wanted)
  scenarios[name]();
