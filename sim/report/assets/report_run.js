// The page of one run, continued: timeline, experts, latencies, what binds, provenance.

// A trailing average over one second, as the driver's meter shows it, of watts that are constant
// within slices.
function metered(series) {
  const ends = series.start_s.map((start, i) => start + series.seconds[i]);
  const joules = [0];
  series.gpu_w.forEach((watts, i) => joules.push(joules[i] + watts * series.seconds[i]));
  const until = (time) => {
    const i = ends.findIndex((end) => end >= time);
    if (i < 0) return joules[joules.length - 1];
    return joules[i] + series.gpu_w[i] * Math.max(0, time - series.start_s[i]);
  };
  return ends.map((end) => end < 1 ? null : until(end) - until(end - 1));
}

function timeline() {
  const s = R.series;
  if (!s || !s.start_s.length) return null;
  const end = s.start_s[s.start_s.length - 1] + s.seconds[s.seconds.length - 1];
  const line = (name, y, paint, more) => ({ name, x: s.start_s, y, colour: paint, step: true, end, ...more });
  const x = { label: "seconds", min: 0, max: end };
  const fine = s.seconds[0] < 0.5;
  const watt_marks = [];
  if (known(R.power.gpu_w_p95_meter)) watt_marks.push({ y: R.power.gpu_w_p95_meter, label: `meter p95 ${num(R.power.gpu_w_p95_meter)} W` });
  return section("The run in time",
    paragraph(`Means over slices of ${num(1000 * s.seconds[0])} ms.`, "small soft"),
    make("div", { class: "row" },
      make("div", {}, plot({ title: "Requests", x, y: { min: 0 }, height: 180, lines: [line("queued", s.queued, "dense_gemm"), line("running", s.running, "accent")] }),
        key([["running", "accent"], ["queued", "dense_gemm"]])),
      make("div", {}, plot({ title: "KV tokens in use", x, y: { min: 0 }, height: 180, lines: [line("KV tokens", s.kv_used_tokens, "all_reduce")],
        marks: [{ y: R.kv.capacity_tokens, label: `pool ${num(R.kv.capacity_tokens)}` }] }),
        key([["allocated, whole pages", "all_reduce"]])),
      make("div", {}, plot({ title: "Watts of one GPU", x, y: { min: 0 }, height: 180,
        lines: [line("W", s.gpu_w, "moe"), ...(fine ? [{ name: "meter", x: s.start_s.map((v, i) => v + s.seconds[i]), y: metered(s), colour: "ink" }] : [])], marks: watt_marks }),
        key([["mean of the slice", "moe"], ...(fine ? [["what the meter shows: 1 s trailing average", "ink"]] : [])]),
        fine ? null : paragraph("Slices are longer than the meter's second: it reads what is drawn, and its p95 over 100 ms polls stands as a line.", "small soft")),
      make("div", {}, plot({ title: "Output tokens/s", x, y: { min: 0 }, height: 180, lines: [line("tokens/s", s.output_tok_per_s, "accent")] }),
        key([["delivered in the slice", "accent"]]))));
}

// ---- experts ----

// Dark blue through teal to yellow: readable in both schemes and in grey.
const HEAT = [[48, 18, 90], [38, 90, 140], [30, 150, 138], [110, 200, 90], [253, 231, 37]];
function heat_colour(share) {
  const at = Math.min(0.9999, Math.max(0, share)) * (HEAT.length - 1), i = Math.floor(at);
  return HEAT[i].map((v, c) => Math.round(v + (HEAT[i + 1][c] - v) * (at - i)));
}

function experts() {
  const layers = DATA.experts_of_a_step.layers, e = R.experts;
  if (!layers.length || !e) return null;
  const most_tokens = layers.reduce((high, row) => Math.max(high, ...row), 1);
  const canvas = make("canvas", { width: layers[0].length, height: layers.length, role: "img", "aria-label": "tokens of each expert, layer by layer" });
  const readout = make("div", { class: "readout" });
  const spread = make("div");
  let shown = layers;
  // Square root: a hot expert does not hide the rest.
  function paint() {
    const context = canvas.getContext("2d"), image = context.createImageData(canvas.width, canvas.height);
    shown.forEach((row, y) => row.forEach((count, x) => {
      const at = 4 * (y * canvas.width + x);
      const rgb = count === 0 ? [150, 150, 150] : heat_colour(Math.sqrt(count / most_tokens));
      rgb.forEach((v, c) => { image.data[at + c] = v; });
      image.data[at + 3] = count === 0 ? 60 : 255;
    }));
    context.putImageData(image, 0, 0);
  }
  canvas.style.aspectRatio = `${canvas.width} / ${Math.max(canvas.height * 1.5, canvas.width / 4)}`;
  canvas.addEventListener("pointermove", (event) => {
    const box = canvas.getBoundingClientRect();
    const x = Math.min(canvas.width - 1, Math.max(0, Math.floor(((event.clientX - box.left) / box.width) * canvas.width)));
    const y = Math.min(canvas.height - 1, Math.max(0, Math.floor(((event.clientY - box.top) / box.height) * canvas.height)));
    readout.textContent = `MoE layer ${y + 1}, ${shown === layers ? `expert ${x + 1}` : `rank ${x + 1} by load`}: ${num(shown[y][x])} tokens`;
  });
  const sort = make("button", { "aria-pressed": "false", onclick: () => {
    const sorted = shown === layers;
    shown = sorted ? layers.map((row) => row.slice().sort((a, b) => b - a)) : layers;
    sort.setAttribute("aria-pressed", String(sorted));
    paint();
  } }, "sort each layer by load");
  paint();
  const steps = [1, 0.75, 0.5, 0.25, 0.05].map((share) => Math.round(share * share * most_tokens) || 1).reverse();
  spread.append(key([["0 tokens", "#9996"], ...steps.map((count) => [num(count), `#${heat_colour(Math.sqrt(count / most_tokens)).map((v) => v.toString(16).padStart(2, "0")).join("")}`])]));
  return section("How full the experts are",
    paragraph(`One decode step of ${num(DATA.experts_of_a_step.tokens)} tokens, drawn from the scenario's routing: each row an MoE layer (${layers.length}), each column an expert (${layers[0].length}), colour the tokens it got.`),
    make("div", { class: "tiles" },
      tile("tokens per expert", num(e.tokens_per_expert_mean), `p50 ${num(e.p50)}, p99 ${num(e.p99)}`),
      tile("awake in a layer", num(e.active_mean), `of ${e.experts}`),
      tile("hottest expert", `${num(e.max_over_mean)} x mean`, "expected over layers"),
      e.rank_max_over_mean > 1 ? tile("fullest rank", `${num(e.rank_max_over_mean)} x mean`, "of expert-parallel ranks") : null),
    make("div", { class: "tools" }, sort), canvas, spread, readout);
}

// ---- latencies ----

function latencies() {
  const names = { ttft: "Time to first token", tpot: "Time per output token (per request)", itl: "Gap between tokens", e2e: "End to end" };
  const figures = Object.keys(names).filter((name) => DATA.latencies[name] && DATA.latencies[name].counts.length).map((name) => {
    const h = DATA.latencies[name], spread = R.latency_ms[name];
    const low = h.edges_ms[0], high = h.edges_ms[h.edges_ms.length - 1];
    return plot({ title: `${names[name]}, ms`, height: 150, x: { label: "ms", log: low > 0 && high / low > 8, min: low, max: high },
      y: { min: 0 }, bars: { edges: h.edges_ms, counts: h.counts },
      marks: ["p50", "p90", "p99"].filter((p) => known(spread[p])).map((p) => ({ x: spread[p], label: `${p} ${ms_text(spread[p])}` })) });
  });
  const rows = { ...R.latency_ms, "decode step": R.step.decode_ms, "prefill step": R.step.prefill_ms };
  const table = make("table", {}, make("thead", {}, make("tr", {}, ["ms", "mean", "p50", "p90", "p99", "samples"].map((t) => make("th", {}, t)))),
    make("tbody", {}, Object.keys(rows).map((name) => make("tr", {}, make("td", {}, name),
      ["mean", "p50", "p90", "p99", "count"].map((k) => make("td", {}, num(rows[name][k])))))));
  return section("Latencies", make("div", { class: "row" }, figures), make("div", { class: "scroll" }, table),
    paragraph("Buckets are an eighth of an octave and finer at most; on a logarithmic axis they look equally wide. The quantiles come from the samples.", "small soft"));
}

// ---- what binds ----

const table_of = (titles, rows) => make("div", { class: "scroll" }, make("table", {},
  make("thead", {}, make("tr", {}, titles.map(([title, kind]) => make("th", { class: kind }, title)))),
  make("tbody", {}, rows.map((cells) => make("tr", {}, cells.map((cell, c) => make("td", { class: titles[c][1] }, cell)))))));
const signed = (value, text) => !known(value) ? "–" : (value > 0 ? "+" : "") + text(value);

function ladder(b) {
  const own = R.throughput.output_tok_per_s, top = Math.max(...b.ladder.map((r) => Math.abs(r.gain_tok_per_s ?? 0)), 1e-9);
  const breaks = [...new Set(b.ladder.flatMap((r) => r.breaks ?? []))];
  const parts = [make("h3", {}, "The ladder: each limit relaxed, and the scenario run again"),
    table_of([["change", "words"], ["tok/s", ""], ["gain", ""], ["", "words"], ["W per GPU", ""], ["TPOT ms", ""], ["then binds", "words"]], b.ladder.map((r) => [
      make("span", { title: (r.sets ?? []).join(" ") }, r.change + (r.hypothetical ? " *" : "") + ((r.breaks ?? []).length ? " !" : "")),
      num(r.tok_per_s_if_relaxed), signed(r.gain_tok_per_s, (v) => percent(v / own)),
      make("span", { class: "bar", style: `width:${(90 * Math.abs(r.gain_tok_per_s ?? 0)) / top}px;background:var(--${r.gain_tok_per_s < 0 ? "mark" : "accent"})` }),
      num(r.gpu_w_mean_if_relaxed), num(r.tpot_ms_if_relaxed), r.not_run || r.binds_next])),
    paragraph(`* hypothetical: no engine or hardware can be set to this.${breaks.length ? ` ! breaks a bound (${breaks.join(", ")}): such a run cannot be.` : ""} The keys stand behind each change: point at it, or open the JSON.`, "small soft")];
  const priced = b.ladder.filter((r) => known(r.marginal));
  if (priced.length) parts.push(make("h3", {}, "What one more of it is worth"),
    table_of([["one more", "words"], ["tok/s", ""], ["in the steady state", ""]], priced.map((r) => [r.marginal_unit,
      signed(r.marginal, num), signed(r.marginal_steady, num)])));
  if (b.climb.length) parts.push(make("h3", {}, "Climbing: the limit that gives most, then the next on top of it"),
    make("ol", {}, b.climb.map((step) => make("li", {}, `${step.change}: ${num(step.output_tok_per_s)} tok/s at ${num(step.gpu_w_mean)} W per GPU; then binds ${step.binds_next}`))));
  return parts;
}

function bounds() {
  return [make("h3", {}, "Bounds that no run may break"),
    table_of([["bound", "words"], ["of the run", ""], ["limit", ""], ["", "words"], ["rule", "words rule"]], R.bounds.map((bound) => [bound.name, num(bound.value), num(bound.limit),
      bound.holds ? "holds" : make("b", { style: "color:var(--mark)" }, "broken"), bound.rule]))];
}

function binding() {
  const b = R.binding, parts = [];
  if (b.concurrency) parts.push(paragraph(`More requests are kept from running by ${b.concurrency}: ${b.concurrency_why}.`));
  if (b.limits.length) {
    const top = Math.max(...b.limits.map((l) => Math.abs(l.elasticity)), 1e-9);
    parts.push(make("h3", {}, "What throughput responds to"), make("div", { class: "scroll" }, make("table", {}, make("thead", {}, make("tr", {}, ["relaxed by 1 %", "gives", ""].map((t) => make("th", {}, t)))),
      make("tbody", {}, b.limits.map((l) => make("tr", {}, make("td", {}, l.constraint), make("td", {}, `${num(l.elasticity)} %`),
        make("td", { class: "words" }, make("span", { class: "bar", style: `width:${(120 * Math.abs(l.elasticity)) / top}px;background:var(--accent)` }))))))));
  }
  if (b.ladder.length) parts.push(...ladder(b));
  if (R.bounds.length) parts.push(...bounds());
  return parts.length ? section("What binds", parts) : null;
}

// ---- provenance ----

const SOURCES = { measured: "all_to_all", interpolated: "attention", extrapolated: "dense_gemm", roofline: "launch", assumed: "moe" };

function provenance() {
  const p = R.provenance, share = (s) => p[`share_${s}`];
  const facts = ["profile", "profile_source", "licence", "date", "engine", "driver", "seed", "version"].filter((k) => p[k] !== "" && p[k] !== null && p[k] !== undefined);
  return section("Where the numbers come from",
    make("div", { class: "split" }, Object.keys(SOURCES).filter((s) => share(s) > 0).map((s) =>
      make("div", { style: `width:${100 * share(s)}%;background:var(--${SOURCES[s]})` }, share(s) > 0.12 ? s : ""))),
    key(Object.keys(SOURCES).map((s) => [`${s} ${percent(share(s))}`, SOURCES[s]])),
    paragraph("Shares of priced time, GPU and host gaps.", "small soft"),
    make("dl", {}, facts.flatMap((k) => [make("dt", {}, k.replaceAll("_", " ")), make("dd", {}, String(p[k]))])),
    make("div", { class: "scroll" }, make("table", {}, make("thead", {}, make("tr", {}, ["table", "digest", "noise"].map((t) => make("th", {}, t)))),
      make("tbody", {}, p.tables.map((t) => make("tr", {}, make("td", {}, t.name), make("td", {}, make("code", {}, t.digest)), make("td", {}, percent(t.noise))))))));
}

function closing() {
  const save = make("button", { onclick: () => {
    const link = make("a", { href: URL.createObjectURL(new Blob([JSON.stringify(R, null, 2)], { type: "application/json" })), download: "plateau-report.json" });
    link.click();
    URL.revokeObjectURL(link.href);
  } }, "Save the report as JSON");
  return section("Definitions", make("details", {}, make("summary", {}, "What each figure means"),
    make("dl", {}, Object.entries(R.definitions).flatMap(([k, v]) => [make("dt", {}, k), make("dd", {}, v)]))), make("div", { class: "tools" }, save));
}

drawn_after(() => {
  const page = document.getElementById("page");
  const has_curve = B.curves.length && B.curves[0].running.length > 1;
  page.replaceChildren(...[head(), has_curve ? plateau() : null, has_curve ? try_it() : null, has_curve ? splits() : null, timeline(),
    experts(), latencies(), binding(), provenance(), closing()].filter(Boolean));
});
