// The page of a sweep: two figures against each other, the rows that no other row beats on both,
// and the rows themselves.

const columns = DATA.columns, rows = DATA.rows;
const index_of = (name) => columns.findIndex((c) => c.name === name);
const numeric = columns.map((c, i) => i).filter((i) => columns[i].kind !== "word" && rows.some((row) => known(row[i])));
const figures = numeric.filter((i) => columns[i].kind === "figure");
const varied = columns.map((c, i) => i).filter((i) => columns[i].kind === "varied");
const PALETTE = ["attention", "dense_gemm", "moe", "all_reduce", "all_to_all", "launch", "host", "norm_etc", "lm_head", "wait"];

// Figures of which more is better; of all others less is.
const more_is_better = (name) => /tok_per_s|requests_per_s|throughput|bandwidth/.test(name);

const first_of = (names, otherwise) => {
  const found = names.map(index_of).find((i) => i >= 0 && numeric.includes(i));
  return found === undefined ? otherwise : found;
};
const chosen = {
  x: first_of(["j_per_output_token", "tpot_p50_ms", "gpu_w_mean"], figures[1] ?? figures[0] ?? numeric[0]),
  y: first_of(["output_tok_per_s", "total_tok_per_s"], figures[0] ?? numeric[0]),
  colour: varied[0] ?? -1, up: {}, log: false, front_only: false, sort: -1, falling: true, picked: -1,
};
// Figures that spread over decades are hard to tell apart near zero.
const wide = (column) => {
  const values = rows.map((row) => row[column]).filter((v) => known(v) && v > 0);
  return values.length > 1 && Math.max(...values) > 30 * Math.min(...values);
};
chosen.log = numeric.length > 0 && (wide(chosen.x) || wide(chosen.y));
const better = (column) => chosen.up[column] ?? more_is_better(columns[column].name);

// Rows that no other row beats: at least as good on both figures and better on one.
function front() {
  const sign = (column) => better(column) ? -1 : 1;
  const usable = rows.map((row, i) => i).filter((i) => known(rows[i][chosen.x]) && known(rows[i][chosen.y]));
  const cost = (i) => [sign(chosen.x) * rows[i][chosen.x], sign(chosen.y) * rows[i][chosen.y]];
  usable.sort((a, b) => cost(a)[0] - cost(b)[0] || cost(a)[1] - cost(b)[1]);
  let best = Infinity;
  return usable.filter((i) => {
    const beats = cost(i)[1] < best;
    best = Math.min(best, cost(i)[1]);
    return beats;
  });
}

// "concurrency" of "workload.concurrency", unless another key ends the same.
const last_word = (name) => name.slice(name.lastIndexOf(".") + 1);
const name_of = (c) => columns.filter((other) => last_word(other.name) === last_word(columns[c].name)).length > 1 ? columns[c].name : last_word(columns[c].name);
const label_of = (i) => varied.map((c) => `${name_of(c)} ${rows[i][c] ?? "–"}`).join(", ");

function groups() {
  if (chosen.colour < 0) return [];
  const values = [...new Set(rows.map((row) => row[chosen.colour]))];
  return values.every((v) => v === null || known(v)) ? values.sort((a, b) => a - b) : values;
}
const paint_of = (value, all) => all.length > PALETTE.length
  ? `#${blend(all.length > 1 ? all.indexOf(value) / (all.length - 1) : 0)}` : PALETTE[all.indexOf(value) % PALETTE.length];
function blend(share) {
  const from = [60, 90, 200], to = [235, 120, 40];
  return from.map((v, c) => Math.round(v + (to[c] - v) * share).toString(16).padStart(2, "0")).join("");
}

const MOST_DOTS = 4000, MOST_ROWS = 500;

function spec() {
  const on_front = front(), all = groups(), marked = new Set(on_front);
  const every_nth = Math.max(1, Math.ceil(rows.length / MOST_DOTS));
  const dots = rows.map((row, i) => i).filter((i) => i % every_nth === 0 || marked.has(i)).map((i) => ({
    x: rows[i][chosen.x], y: rows[i][chosen.y], colour: chosen.colour < 0 ? "accent" : paint_of(rows[i][chosen.colour], all),
    faint: !marked.has(i), radius: i === chosen.picked ? 8 : marked.has(i) ? 5.5 : 4, label: label_of(i), pick: () => { chosen.picked = i; update(); } }));
  const axis = (column) => ({ label: columns[column].name, log: chosen.log, min: chosen.log ? undefined : 0 });
  return { title: `${columns[chosen.y].name} (up) against ${columns[chosen.x].name}: ${better(chosen.y) ? "more" : "less"} of the one, ${better(chosen.x) ? "more" : "less"} of the other is better`,
    height: 380, x: { ...axis(chosen.x), max: undefined }, y: axis(chosen.y),
    lines: [{ name: "", x: on_front.map((i) => rows[i][chosen.x]), y: on_front.map((i) => rows[i][chosen.y]), colour: "mark", dash: true }], dots };
}

function table() {
  const marked = new Set(front());
  let order = rows.map((row, i) => i);
  if (chosen.front_only) order = order.filter((i) => marked.has(i));
  const sort = chosen.sort < 0 ? chosen.y : chosen.sort;
  const rank = (a, b) => a === b ? 0 : a === null ? 1 : b === null ? -1 : (a < b ? -1 : 1) * (chosen.falling ? -1 : 1);
  order.sort((a, b) => rank(rows[a][sort], rows[b][sort]) || a - b);
  const hidden = order.length - MOST_ROWS;
  const head = columns.map((column, c) => make("th", { class: column.kind === "word" ? "words" : null }, make("button", { onclick: () => {
    chosen.falling = sort === c ? !chosen.falling : true;
    chosen.sort = c;
    update();
  } }, name_of(c) + (sort === c ? (chosen.falling ? " ▾" : " ▴") : ""))));
  return [make("div", { class: "scroll" }, make("table", {}, make("thead", {}, make("tr", {}, make("th", {}, ""), head)),
    make("tbody", {}, order.slice(0, MOST_ROWS).map((i) => make("tr", { class: i === chosen.picked ? "on" : null, onclick: () => { chosen.picked = i; update(); } },
      make("td", {}, marked.has(i) ? "●" : ""), rows[i].map((cell, c) => make("td", { class: columns[c].kind === "word" ? "words" : null }, known(cell) ? num(cell) : cell ?? "–"))))))),
    hidden > 0 ? make("p", { class: "small soft" }, `${num(hidden)} more rows are in the file, not in this table.`) : null];
}

function picked() {
  if (chosen.picked < 0) return make("p", { class: "small soft" }, "Choose a point or a row to read it in full.");
  return make("div", { class: "tiles" }, columns.map((c, i) => tile(c.name, known(rows[chosen.picked][i]) ? num(rows[chosen.picked][i]) : rows[chosen.picked][i] ?? "–")));
}

const select = (label, indices, now, change) => make("label", {}, label, make("select", { onchange: (event) => { change(Number(event.target.value)); update(); } },
  indices.map((i) => make("option", { value: i, selected: i === now }, i < 0 ? "nothing" : columns[i].name))));

let figure = null, update = () => {};

drawn_after(() => {
  const page = document.getElementById("page");
  const legend = make("div"), details = make("div"), list = make("div");
  const toggle = (text, get, set) => {
    const button = make("button", { "aria-pressed": String(get()), onclick: () => { set(!get()); update(); } }, text);
    button.refresh = () => button.setAttribute("aria-pressed", String(get()));
    return button;
  };
  page.replaceChildren(
    make("h1", {}, DATA.question || DATA.title),
    make("p", { class: "soft" }, `${num(rows.length)} points of ${DATA.title}${DATA.infeasible ? `; ${num(DATA.infeasible)} more cannot run` : ""}. Filled points with the dashed line: no other point beats them on both figures.`),
    ...DATA.notes.map((note) => make("p", { class: "small soft" }, note)));
  if (!numeric.length) {
    page.append(make("p", {}, "No row holds a number."));
    return;
  }
  const buttons = [
    toggle("more across is better", () => better(chosen.x), (on) => { chosen.up[chosen.x] = on; }),
    toggle("more up is better", () => better(chosen.y), (on) => { chosen.up[chosen.y] = on; }),
    toggle("logarithmic", () => chosen.log, (on) => { chosen.log = on; }),
    toggle("only the front in the table", () => chosen.front_only, (on) => { chosen.front_only = on; }),
  ];
  figure = plot(spec());
  update = () => {
    figure.redraw(spec());
    buttons.forEach((button) => button.refresh());
    const all = groups();
    legend.replaceChildren(all.length && all.length <= 24 ? key(all.map((value) => [`${name_of(chosen.colour)} ${value ?? "–"}`, paint_of(value, all)])) : "");
    details.replaceChildren(picked());
    list.replaceChildren(...table().filter(Boolean));
  };
  page.append(make("div", { class: "tools" },
    select("up", numeric, chosen.y, (i) => { chosen.y = i; }), select("across", numeric, chosen.x, (i) => { chosen.x = i; }),
    select("colour", [-1, ...varied, ...columns.map((c, i) => i).filter((i) => columns[i].kind === "word")], chosen.colour, (i) => { chosen.colour = i; })),
    make("div", { class: "tools" }, buttons), figure, legend, details, make("h2", {}, "Points"),
    make("p", { class: "small soft" }, "● on the front. A column's name sorts by it; swipe or scroll for more columns."), list);
  once_placed(() => update());
});
