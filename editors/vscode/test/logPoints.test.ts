// The state that the decorations show.
import assert from "node:assert/strict";
import { test } from "node:test";
import { LogPoints, timeOf, type LogPoint } from "../src/logPoints";

const uri = "file:///src/my%20shop.c";
const time = new Date(2026, 10, 30, 14, 3, 27, 118).getTime() * 1e6;

function point(more: Partial<LogPoint>): LogPoint {
  return { id: 1, uri, line: 73, state: "armed", label: "", count: 0, lines: [], omitted: 0, messages: [], program: "/src/shop", processes: [7], ...more };
}

test("values appear at the line, and in the list", () => {
  const points = new LogPoints();
  assert.deepEqual(points.update(point({ state: "starting", label: "sonde: starting …" })), []);
  assert.deepEqual(points.lineEnds(uri), [{ line: 73, text: "sonde: starting …", hover: [], failed: false }]);
  const lines = [{ time, pid: 7, name: "shop", text: "amount=28" }];
  assert.deepEqual(points.update(point({ label: "amount=28", count: 1, lines })), ["14:03:27.118 shop[7] my shop.c:74 amount=28"]);
  assert.deepEqual(points.lineEnds(uri), [{ line: 73, text: "amount=28", hover: ["14:03:27.118 shop[7] amount=28"], failed: false }]);
  assert.deepEqual(points.lineEnds("file:///src/other.c"), []);
});

test("the hover has the last ten values, and warnings", () => {
  const points = new LogPoints();
  for (let n = 0; n < 15; n++) points.update(point({ lines: [{ time, pid: 7, name: "shop", text: `n=${n}` }], messages: ["old source"] }));
  const [end] = points.lineEnds(uri);
  assert.equal(end?.hover.length, 11);
  assert.match(end?.hover[0] ?? "", /n=5$/);
  assert.equal(end?.hover[10], "old source");
});

test("the end is told once, with the reason and the cost", () => {
  const points = new LogPoints();
  points.update(point({ lines: [{ time, pid: 7, name: "shop", text: "n=1" }], omitted: 3 }));
  const ended = point({ state: "ended", label: "n=1  (stopped)", reason: "stopped", cost: "1 hit took about 3 us of the program's time, …" });
  assert.deepEqual(points.update(ended), ["my shop.c:74: stopped", "my shop.c:74: 1 hit took about 3 us of the program's time, …"]);
  assert.deepEqual(points.update(ended), []);
  assert.deepEqual(points.lineEnds(uri)[0]?.hover.slice(1), ["stopped", ended.cost]);
  points.update({ ...ended, state: "removed" });
  assert.equal(points.size, 0);
});

test("values that were too many are counted", () => {
  assert.deepEqual(new LogPoints().update(point({ omitted: 12 })), ["my shop.c:74: 12 more values"]);
});

test("failures have another color, and edits move a log point", () => {
  const points = new LogPoints();
  points.update(point({ state: "ended", label: "sonde: no running program …", reason: "no running program …", failed: true }));
  assert.equal(points.lineEnds(uri)[0]?.failed, true);
  points.update(point({ id: 2, line: 80 }));
  points.update(point({ id: 2, line: 81 }));
  assert(points.isAt(uri, 81) && !points.isAt(uri, 80) && points.isAt(uri, 73));
  points.clear();
  assert(!points.isAt(uri, 81));
});

test("times are local", () => assert.equal(timeOf({ time, pid: 1, name: "", text: "" }), "14:03:27.118"));
