// The JavaScript in a timeline picture that reacts to the mouse and to keys.
#pragma once

namespace sonde {

// Elements of the picture:
// * A call is <g class="c" data-s= data-e= data-n=>: begin and end in nanoseconds since the picture's begin, and the
//   name.
// * A mark is <g class="m" data-s= data-n= data-t=>: time, name and text.
// * A curve is <g class="v">, drawn for the whole time span.
// * A row is <g class="row" data-l=>, with the name of its thread.
inline constexpr const char* timeline_script = R"js(
(function () {
  var svg = document.querySelector("svg.timeline"), plot = svg.querySelector("svg.plot"), axis = svg.querySelector("g.axis");
  var width = +plot.getAttribute("width"), span = +svg.getAttribute("data-span"), letter = 6.7, from = 0, to = span;
  var info = svg.querySelector("text.info"), found = svg.querySelector("text.found"), chosen = svg.querySelector("rect.chosen");
  var units = [[1e9, "s"], [1e6, "ms"], [1e3, "\u00b5s"], [1, "ns"]], pattern = null, pressed = null, pointer = 0.5;
  function all(selector) { return Array.prototype.slice.call(svg.querySelectorAll(selector)); }
  function unit_of(ns) { return units.filter(function (u) { return ns >= u[0]; })[0] || units[3]; }
  function long(ns) { var u = unit_of(ns); return +(ns / u[0]).toPrecision(4) + " " + u[1]; }
  function when(ns) { return (ns / 1e6).toFixed(3) + " ms"; }
  function x_of(ns) { return (ns - from) / (to - from) * width; }
  var calls = all("g.c"), marks = all("g.m"), curves = all("g.v");
  calls.concat(marks).forEach(function (g) {
    g.begin = +g.getAttribute("data-s"); g.end = +(g.getAttribute("data-e") || g.begin);
    g.name = g.getAttribute("data-n"); g.row = g.parentNode.getAttribute("data-l");
    g.box = g.querySelector("rect"); g.label = g.querySelector("text");
    var note = g.getAttribute("data-t") || "";
    g.about = (g.box ? g.name + ": " + long(g.end - g.begin) + ", from " + when(g.begin) + (note ? ", " + note : "")
                     : (note || g.name).replace(/\n/g, " | ") + ", at " + when(g.begin)) + "  (" + g.row + ")";
    g.addEventListener("mouseover", function () { info.textContent = g.about; });
    g.addEventListener("mouseout", function () { info.textContent = ""; });
  });
  function fit(text, wide) {
    var room = Math.floor(wide / letter), letters = Array.from(text);
    return room < 3 ? "" : letters.length <= room ? text : letters.slice(0, room - 2).join("") + "..";
  }
  function make(name, attributes, text) {
    var out = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (var key in attributes) out.setAttribute(key, attributes[key]);
    if (text) out.textContent = text;
    axis.appendChild(out);
  }
  function draw_axis() {
    while (axis.firstChild) axis.removeChild(axis.firstChild);
    var power = Math.pow(10, Math.floor(Math.log10((to - from) / 8)));
    var step = Math.max(1, [1, 2, 5, 10].map(function (n) { return n * power; }).filter(function (n) { return n * 8 >= to - from; })[0]);
    var unit = unit_of(step), bottom = +plot.getAttribute("height");
    for (var at = Math.ceil(from / step); at * step <= to; at++) {
      var x = x_of(at * step);
      make("line", { x1: x, x2: x, y1: 34, y2: bottom, stroke: "#ddd" });
      make("text", { x: x + 3, y: 46, fill: "#666" }, Math.round(at * step / unit[0]) + " " + unit[1]);
    }
  }
  function show(begin, end) {
    var least = Math.min(100, span);
    if (end - begin < least) { var middle = (begin + end) / 2; begin = middle - least / 2; end = middle + least / 2; }
    begin = Math.max(0, Math.min(begin, span - least)); end = Math.min(span, Math.max(end, begin + least));
    from = begin; to = end;
    draw_axis();
    calls.forEach(function (g) {
      var left = x_of(g.begin), right = x_of(g.end);
      g.style.display = right < 0 || left > width ? "none" : "";
      left = Math.max(left, -2); right = Math.min(right, width + 2);
      g.box.setAttribute("x", left); g.box.setAttribute("width", Math.max(right - left, 0.5));
      g.label.setAttribute("x", Math.max(left, 0) + 3);
      g.label.textContent = fit(g.name, right - Math.max(left, 0) - 5);
    });
    marks.forEach(function (g, i) {
      var x = x_of(g.begin), next = marks[i + 1];
      g.style.display = x < 0 || x > width ? "none" : "";
      g.setAttribute("transform", "translate(" + x + " 0)");
      g.label.textContent = fit(g.name, (next && next.row === g.row ? Math.min(x_of(next.begin), width) : width) - x - 10);
    });
    var scale = span / (to - from);
    curves.forEach(function (g) { g.setAttribute("transform", "scale(" + scale + " 1) translate(" + -from / span * width + " 0)"); });
  }
  function mark(text) {
    try { pattern = text ? new RegExp(text) : null; } catch (wrong) { found.textContent = "not a regular expression"; return; }
    var hits = 0;
    calls.concat(marks).forEach(function (g) {
      var is_hit = pattern && (pattern.test(g.name) || pattern.test(g.getAttribute("data-t") || ""));
      g.style.opacity = pattern && !is_hit ? 0.2 : 1;
      if (is_hit) hits++;
    });
    found.textContent = pattern ? "matched: " + hits : "";
  }
  function ask() {
    var text = prompt("Mark calls and marks (a regular expression; empty: none)", pattern ? pattern.source : "");
    if (text !== null) mark(text);
  }
  function time_at(event) {
    var point = svg.createSVGPoint(); point.x = event.clientX; point.y = event.clientY;
    pointer = Math.max(0, Math.min(1, point.matrixTransform(plot.getScreenCTM().inverse()).x / width));
    return from + pointer * (to - from);
  }
  function zoom(factor) {
    var at = from + pointer * (to - from);
    show(at - pointer * (to - from) * factor, at + (1 - pointer) * (to - from) * factor);
  }
  plot.addEventListener("mousedown", function (event) {
    var target = event.target;
    while (target !== plot && !(target.getAttribute("class") === "c")) target = target.parentNode;
    pressed = { at: time_at(event), x: event.clientX, call: target === plot ? null : target };
    event.preventDefault();
  });
  window.addEventListener("mousemove", function (event) {
    var at = time_at(event);
    if (!pressed || Math.abs(event.clientX - pressed.x) < 4) return;
    chosen.setAttribute("x", x_of(Math.min(at, pressed.at)));
    chosen.setAttribute("width", x_of(Math.max(at, pressed.at)) - x_of(Math.min(at, pressed.at)));
    info.textContent = long(Math.abs(at - pressed.at));
  });
  window.addEventListener("mouseup", function (event) {
    if (!pressed) return;
    var at = time_at(event), call = pressed.call, begin = pressed.at, is_click = Math.abs(event.clientX - pressed.x) < 4;
    pressed = null;
    chosen.setAttribute("width", 0);
    if (!is_click) show(Math.min(begin, at), Math.max(begin, at));
    else if (call) show(call.begin - (call.end - call.begin) / 20, call.end + (call.end - call.begin) / 20);
  });
  svg.querySelector("text.search").addEventListener("click", ask);
  svg.querySelector("text.reset").addEventListener("click", function () { show(0, span); mark(""); });
  window.addEventListener("keydown", function (key) {
    var quarter = (to - from) / 4;
    if (key.key === "/" || (key.ctrlKey && key.key === "f")) { key.preventDefault(); ask(); }
    else if (key.key === "Escape") { show(0, span); mark(""); }
    else if (key.key === "+" || key.key === "=") zoom(0.5);
    else if (key.key === "-") zoom(2);
    else if (key.key === "ArrowLeft") show(Math.max(0, from - quarter), Math.max(0, from - quarter) + to - from);
    else if (key.key === "ArrowRight") show(Math.min(span, to + quarter) - (to - from), Math.min(span, to + quarter));
    else return;
    key.preventDefault();
  });
  show(0, span);
})();
)js";

} // namespace sonde
