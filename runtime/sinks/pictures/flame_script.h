// The JavaScript in a flame graph that reacts to clicks and keys.
#pragma once

namespace sonde {

// A box is <g class="f" data-x= data-w= data-d=>: its left edge and its width as fractions of the total width, and its
// depth. data-n is its name.
inline constexpr const char* flame_script = R"js(
(function () {
  var svg = document.querySelector("svg.flame"), boxes = Array.prototype.slice.call(svg.querySelectorAll("g.f"));
  var width = +svg.getAttribute("data-width"), letter = 7.3, shown = [0, 1, 0], pattern = null;
  var info = svg.querySelector("text.info"), found = svg.querySelector("text.found");
  boxes.forEach(function (g) {
    g.at = +g.getAttribute("data-x"); g.wide = +g.getAttribute("data-w"); g.depth = +g.getAttribute("data-d");
    g.box = g.querySelector("rect"); g.label = g.querySelector("text"); g.about = g.querySelector("title").textContent;
    g.name = g.getAttribute("data-n"); g.color = g.box.getAttribute("fill");
    g.addEventListener("click", function () { zoom(g.at, g.at + g.wide, g.depth); });
    g.addEventListener("mouseover", function () { info.textContent = g.about; });
    g.addEventListener("mouseout", function () { info.textContent = ""; });
  });
  function zoom(from, to, depth) {
    shown = [from, to, depth];
    var scale = width / (to - from), edge = 1e-9;
    boxes.forEach(function (g) {
      var below = g.depth < depth && g.at <= from + edge && g.at + g.wide >= to - edge;
      var left = below ? 0 : (g.at - from) * scale, wide = below ? width : g.wide * scale;
      var out = !below && (g.depth < depth || g.at + g.wide <= from + edge || g.at >= to - edge);
      g.style.display = out || wide < 0.1 ? "none" : "";
      g.style.opacity = below ? 0.5 : 1;
      if (out) return;
      g.box.setAttribute("x", left); g.box.setAttribute("width", Math.max(wide - 0.5, 0.1));
      g.label.setAttribute("x", left + 3);
      var room = Math.floor((wide - 6) / letter);
      g.label.textContent = room < 3 ? "" : g.name.length <= room ? g.name : g.name.slice(0, room - 2) + "..";
    });
  }
  function mark(text) {
    try { pattern = text ? new RegExp(text) : null; } catch (wrong) { found.textContent = "not a regular expression"; return; }
    var spans = [];
    boxes.forEach(function (g) {
      var hit = pattern && pattern.test(g.name);
      g.box.setAttribute("fill", hit ? "#e600e6" : g.color);
      if (hit) spans.push([g.at, g.at + g.wide]);
    });
    spans.sort(function (a, b) { return a[0] - b[0]; });
    var sum = 0, end = 0;
    spans.forEach(function (s) { if (s[1] > end) { sum += s[1] - Math.max(s[0], end); end = s[1]; } });
    found.textContent = pattern ? "matched: " + (100 * sum).toFixed(2) + "%" : "";
  }
  function ask() {
    var text = prompt("Mark functions (a regular expression; empty: none)", pattern ? pattern.source : "");
    if (text !== null) mark(text);
  }
  svg.querySelector("text.search").addEventListener("click", ask);
  svg.querySelector("text.reset").addEventListener("click", function () { zoom(0, 1, 0); mark(""); });
  window.addEventListener("keydown", function (key) {
    if (key.key === "/" || (key.ctrlKey && key.key === "f")) { key.preventDefault(); ask(); }
    if (key.key === "Escape") { zoom(0, 1, 0); mark(""); }
  });
  zoom(0, 1, 0);
})();
)js";

} // namespace sonde
