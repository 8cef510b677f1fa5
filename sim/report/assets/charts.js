"use strict";
// Small SVG charts: a plot is a description (axes, lines, areas, bars, marks) drawn to the width it
// has, again when that changes. Colours are CSS variables, so light, dark and paper need no redraw.

window.addEventListener("error", (event) => { document.documentElement.dataset.error = event.message; });

const DATA = JSON.parse(document.getElementById("data").textContent);

function make(tag, attributes, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value !== null && value !== undefined && value !== false) element.setAttribute(name, value);
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return element;
}

function escaped(text) {
  return String(text).replace(/[&<>"]/g, (c) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" }[c]));
}

const known = (value) => typeof value === "number" && isFinite(value);

// About three significant digits.
function num(value) {
  if (!known(value)) return "–";
  const size = Math.abs(value);
  if (size >= 1000) return Math.round(value).toLocaleString("en-US");
  if (size !== 0 && size < 1e-3) return value.toExponential(1);
  return String(Number(value.toPrecision(3)));
}
const short = (value) => Math.abs(value) >= 1e4
  ? (Math.abs(value) >= 1e6 ? Number((value / 1e6).toPrecision(3)) + "M" : Number((value / 1e3).toPrecision(3)) + "k")
  : num(value);
// A latency, in seconds once it is long.
const ms_text = (ms) => known(ms) && ms >= 1e4 ? `${num(ms / 1e3)} s` : `${num(ms)} ms`;
const percent = (share) => known(share) ? num(100 * share) + " %" : "–";

const colour = (name) => name.startsWith("var(") || name.startsWith("#") ? name : `var(--${name})`;

function key(items) {
  return make("div", { class: "key" }, items.map(([name, paint]) =>
    make("span", {}, make("i", { style: `background:${colour(paint)}` }), name)));
}

function tile(label, value, note) {
  return make("div", { class: "tile" }, make("span", {}, label), make("b", {}, value), note ? make("span", {}, note) : null);
}

// ---- scales ----

function scale(axis, from, to) {
  const f = axis.log ? Math.log10 : (v) => v;
  const low = f(axis.min), span = f(axis.max) - low || 1;
  const at = (v) => from + ((f(v) - low) / span) * (to - from);
  at.back = (pixel) => {
    const v = low + ((pixel - from) / (to - from)) * span;
    return axis.log ? Math.pow(10, v) : v;
  };
  return at;
}

function ticks(axis, count) {
  const found = [];
  if (axis.log) {
    const decades = Math.log10(axis.max / axis.min);
    const digits = decades > count ? [1] : decades * 3 > count * 1.4 ? [1, 3] : [1, 2, 5];
    const skip = Math.max(1, Math.ceil(decades / count));
    for (let power = Math.floor(Math.log10(axis.min)); power <= Math.ceil(Math.log10(axis.max)); power += skip)
      for (const digit of digits) {
        const value = digit * Math.pow(10, power);
        if (value >= axis.min * 0.999 && value <= axis.max * 1.001) found.push(value);
      }
    return found;
  }
  const rough = (axis.max - axis.min) / Math.max(1, count);
  const power = Math.pow(10, Math.floor(Math.log10(rough)));
  const step = [1, 2, 2.5, 5, 10].map((m) => m * power).find((s) => s >= rough * 0.999) || 10 * power;
  for (let i = Math.ceil(axis.min / step - 1e-9); i * step <= axis.max + step * 1e-9; ++i)
    found.push(Number((i * step).toPrecision(12)));
  return found;
}

function axis_of(given, values) {
  const axis = { ...given };
  const usable = values.filter((v) => known(v) && (!axis.log || v > 0));
  const low = usable.length ? Math.min(...usable) : axis.log ? 1 : 0;
  const high = usable.length ? Math.max(...usable) : 1;
  if (axis.min === undefined) axis.min = axis.log ? low : Math.min(0, low);
  if (axis.max === undefined) axis.max = high * (axis.log ? 1 : 1.06);
  if (!(axis.max > axis.min)) axis.max = axis.log ? axis.min * 10 : axis.min + 1;
  return axis;
}

// ---- plots ----
// spec: {title, x, y: axes {label, log, min, max}, lines: [{name, colour, x, y, step, dash, faint}],
//        areas: {x, layers: [{name, colour, y}]} stacked, bars: {edges, counts, colour},
//        marks: [{x | y, label, colour}], dots: [{x, y, low, high, label, colour, faint, pick}], height}

const every = (array, get) => (array || []).flatMap(get);

function path_of(line, sx, sy) {
  let d = "", pen = false, last = null;
  line.x.forEach((x, i) => {
    const y = line.y[i];
    if (!known(y) || !known(x)) { pen = false; return; }
    const px = sx(x).toFixed(1), py = sy(y).toFixed(1);
    d += !pen ? `M${px} ${py}` : line.step ? `H${px}V${py}` : `L${px} ${py}`;
    pen = true;
    last = i;
  });
  if (line.step && last !== null && known(line.end)) d += `H${sx(line.end).toFixed(1)}`;
  return d;
}

function stack_of(areas) {
  const sums = areas.x.map(() => 0);
  return areas.layers.map((layer) => {
    const low = sums.slice();
    layer.y.forEach((y, i) => { sums[i] += known(y) ? y : 0; });
    return { ...layer, low, high: sums.slice() };
  });
}

function draw(spec, width) {
  const stacked = spec.areas ? stack_of(spec.areas) : [];
  const bars = spec.bars || { edges: [], counts: [] };
  const x = axis_of(spec.x, [...every(spec.lines, (l) => l.x), ...every(spec.dots, (d) => [d.x]), ...bars.edges,
    ...(spec.areas ? spec.areas.x : [])]);
  const y = axis_of(spec.y, [...every(spec.lines, (l) => l.y), ...every(spec.dots, (d) => [d.y, d.low, d.high]),
    ...bars.counts, ...every(stacked, (s) => s.high), ...every(spec.marks, (m) => m.x === undefined ? [m.y] : [])]);
  const marks = (spec.marks || []).filter((m) => m.x === undefined ? m.y <= y.max : m.x >= x.min && m.x <= x.max);
  const rows = marks.filter((m) => m.x !== undefined).length;
  const top = 8 + 13 * rows, left = 50, right = width - 12;
  const height = (spec.height || 220) + 13 * rows, bottom = height - 34;
  const sx = scale(x, left, right), sy = scale(y, bottom, top);
  let svg = `<svg viewBox="0 0 ${width} ${height}" role="img" aria-label="${escaped(spec.title)}">`;
  for (const t of ticks(y, Math.max(2, (bottom - top) / 32)))
    svg += `<path class="grid" d="M${left} ${sy(t).toFixed(1)}H${right}"/><text x="${left - 6}" y="${(sy(t) + 4).toFixed(1)}" text-anchor="end">${short(t)}</text>`;
  for (const t of ticks(x, Math.max(2, (right - left) / 75)))
    svg += `<path class="grid" d="M${sx(t).toFixed(1)} ${top}V${bottom}"/><text x="${sx(t).toFixed(1)}" y="${bottom + 14}" text-anchor="middle">${short(t)}</text>`;
  svg += `<path class="axis" d="M${left} ${bottom}H${right}"/><text x="${right}" y="${bottom + 29}" text-anchor="end">${escaped(spec.x.label || "")}</text>`;
  for (const layer of stacked) {
    const forth = spec.areas.x.map((v, i) => `${sx(v).toFixed(1)} ${sy(layer.high[i]).toFixed(1)}`);
    const back = spec.areas.x.map((v, i) => `${sx(v).toFixed(1)} ${sy(layer.low[i]).toFixed(1)}`).reverse();
    svg += `<path d="M${forth.join("L")}L${back.join("L")}Z" style="fill:${colour(layer.colour)};stroke:var(--paper);stroke-width:.5"/>`;
  }
  bars.counts.forEach((count, i) => {
    const from = sx(bars.edges[i]), to = sx(bars.edges[i + 1]);
    svg += `<rect x="${from.toFixed(1)}" width="${Math.max(1, to - from - 0.5).toFixed(1)}" y="${sy(count).toFixed(1)}" height="${(bottom - sy(count)).toFixed(1)}" style="fill:${colour(bars.colour || "accent")}"/>`;
  });
  for (const line of spec.lines || [])
    svg += `<path d="${path_of(line, sx, sy)}" fill="none" style="stroke:${colour(line.colour || "accent")};stroke-width:${line.faint ? 1.2 : 2};opacity:${line.faint ? 0.45 : 1}" stroke-linejoin="round"${line.dash ? ' stroke-dasharray="5 4"' : ""}/>`;
  let row = 0;
  for (const mark of marks) {
    const paint = colour(mark.colour || "mark");
    if (mark.x !== undefined) {
      const px = sx(mark.x), ty = 11 + 13 * row++, end = px > (left + right) / 2;
      svg += `<path d="M${px.toFixed(1)} ${ty - 8}V${bottom}" style="stroke:${paint}" stroke-dasharray="3 3"/><text class="label" x="${(px + (end ? -5 : 5)).toFixed(1)}" y="${ty}" text-anchor="${end ? "end" : "start"}" style="fill:${paint}">${escaped(mark.label)}</text>`;
    } else {
      svg += `<path d="M${left} ${sy(mark.y).toFixed(1)}H${right}" style="stroke:${paint}" stroke-dasharray="3 3"/><text class="label" x="${left + 5}" y="${(sy(mark.y) - 4).toFixed(1)}" style="fill:${paint}">${escaped(mark.label)}</text>`;
    }
  }
  (spec.dots || []).forEach((dot, i) => {
    if (!known(dot.x) || !known(dot.y)) return;
    const px = sx(Math.min(x.max, Math.max(x.min, dot.x))).toFixed(1), paint = colour(dot.colour || "mark");
    if (known(dot.low)) svg += `<path d="M${px} ${sy(dot.low).toFixed(1)}V${sy(dot.high).toFixed(1)}" style="stroke:${paint};stroke-width:2"/>`;
    svg += `<circle cx="${px}" cy="${sy(dot.y).toFixed(1)}" r="${dot.radius || 5}" data-dot="${i}" style="fill:${paint};opacity:${dot.faint ? 0.35 : 1};stroke:var(--paper)"><title>${escaped(dot.label || "")}</title></circle>`;
  });
  svg += `<path class="cursor" d="" style="stroke:var(--soft)"/></svg>`;
  return { svg, sx, top, bottom, left, right, x, stacked };
}

function nearest(values, at) {
  let best = 0;
  values.forEach((v, i) => { if (Math.abs(v - at) < Math.abs(values[best] - at)) best = i; });
  return best;
}

// What the pointer is over, in words.
function words_at(spec, drawn, value) {
  const found = [];
  if (spec.areas) {
    const i = nearest(spec.areas.x, value);
    found.push(`${spec.x.label} ${num(spec.areas.x[i])}`);
    for (const layer of spec.areas.layers.slice().reverse()) if (layer.y[i] > 0) found.push(`${layer.name} ${num(layer.y[i])}`);
  } else if (spec.bars) {
    const i = spec.bars.edges.findIndex((edge, j) => value >= edge && value < spec.bars.edges[j + 1]);
    if (i >= 0) found.push(`${num(spec.bars.edges[i])} to ${num(spec.bars.edges[i + 1])} ms: ${num(spec.bars.counts[i])}`);
  } else {
    const lines = (spec.lines || []).filter((line) => line.name && line.x.length);
    if (lines.length) {
      const below = (line) => line.step ? Math.max(0, line.x.findLastIndex((v) => v <= value)) : nearest(line.x, value);
      found.push(`${spec.x.label} ${num(lines[0].x[below(lines[0])])}`);
      for (const line of lines) found.push(`${line.name} ${num(line.y[below(line)])}`);
    }
  }
  return found.join(" · ");
}

let plots = 0;

// Returns a figure with redraw(spec).
function plot(spec) {
  const caption = make("figcaption"), body = make("div"), readout = make("div", { class: "readout" });
  const figure = make("figure", { class: "plot" }, caption, body, readout);
  let now = spec, drawn = null, width = 0;
  const paint = () => {
    width = Math.max(240, Math.round(body.clientWidth || 480));
    drawn = draw(now, width);
    caption.textContent = now.title;
    body.innerHTML = drawn.svg;
  };
  body.addEventListener("pointermove", (event) => {
    const box = body.firstChild.getBoundingClientRect();
    const px = Math.min(drawn.right, Math.max(drawn.left, ((event.clientX - box.left) / box.width) * width));
    readout.textContent = words_at(now, drawn, drawn.sx.back(px));
    body.querySelector(".cursor").setAttribute("d", `M${px} ${drawn.top}V${drawn.bottom}`);
  });
  body.addEventListener("pointerleave", () => {
    readout.textContent = "";
    body.querySelector(".cursor").setAttribute("d", "");
  });
  body.addEventListener("click", (event) => {
    const dot = event.target.closest("[data-dot]");
    if (dot && now.dots[dot.dataset.dot].pick) now.dots[dot.dataset.dot].pick();
  });
  figure.redraw = (next) => { now = next; paint(); };
  new ResizeObserver(() => { if (Math.abs(body.clientWidth - width) > 1) paint(); }).observe(body);
  once_placed(paint);
  ++plots;
  return figure;
}

// What needs the page's width is drawn when the page stands, in the same turn of the script, so that
// whoever prints or reads the loaded page finds it whole.
let unplaced = [];
function once_placed(draw) {
  if (unplaced) unplaced.push(draw);
  else requestAnimationFrame(draw);
}

function drawn_after(build) {
  build();
  const draws = unplaced;
  unplaced = null;
  draws.forEach((draw) => draw());
  document.documentElement.dataset.plots = String(document.querySelectorAll(".plot svg").length) + "/" + plots;
  document.documentElement.dataset.drawn = "yes";
}
