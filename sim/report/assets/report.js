// The page of one run.

const R = DATA.report, B = DATA.batch, GPUS = R.scenario.gpus;
const all_gpus = GPUS === 1 ? "its one GPU" : `all ${GPUS} GPUs`;
const PARTS = Object.keys(R.time_split);
const limit_words = B.most_running_why === "KV pool" ? `KV wall ${num(B.most_running)}` : `running cap ${num(B.most_running)}`;

const section = (title, ...content) => make("section", {}, make("h2", {}, title), ...content);
const paragraph = (text, kind) => make("p", { class: kind }, text);

function split_bar(shares) {
  return make("div", { class: "split" }, PARTS.filter((part) => shares[part] > 0).map((part) =>
    make("div", { style: `width:${100 * shares[part]}%;background:var(--${part})`, title: `${part} ${percent(shares[part])}` },
      shares[part] > 0.09 ? part : "")));
}

// ---- head ----

function head() {
  const latency = R.latency_ms, band = R.interval.output_tok_per_s, steady = R.steady_state;
  const tiles = [
    tile("output tokens/s", num(R.throughput.output_tok_per_s), band ? `${num(band[0])} to ${num(band[1])} by the tables' band` : null),
    tile("in the steady state", num(steady.output_tok_per_s), known(steady.output_tok_per_s) ? "output tokens/s" : "no such window"),
    tile("watts per GPU", num(R.power.gpu_w_mean), R.power.tdp_fraction ? `${percent(R.power.tdp_fraction)} of its limit${GPUS > 1 ? `; all ${GPUS}: ${num(R.power.node_w)} W` : ""}` : null),
    tile("joules per output token", num(R.energy.j_per_output_token), all_gpus),
    tile("running requests", num(R.running.mean), `mean of decode steps; peak ${num(R.running.peak)}`),
    tile("waiting requests", num(R.queue.mean), `mean over time; peak ${num(R.queue.peak)}`),
    tile("first token, median", ms_text(latency.ttft.p50), `p99 ${ms_text(latency.ttft.p99)}`),
    tile("time per output token, median", ms_text(latency.tpot.p50), `p99 ${ms_text(latency.tpot.p99)}`),
  ];
  const bound = R.binding.constraint ? `Bound by ${R.binding.constraint}: ${R.binding.why}.` : "";
  return make("header", {},
    make("h1", {}, R.scenario.question || R.scenario.file),
    make("p", { class: "headline" }, DATA.headline),
    bound ? paragraph(bound) : null,
    paragraph(`${R.scenario.model} on ${GPUS} x ${R.scenario.device}, ${R.scenario.engine}. ${R.scenario.workload}.`, "soft small"),
    R.warnings.length ? make("div", { class: "warnings small" }, make("b", {}, R.warnings.length === 1 ? "1 warning" : `${R.warnings.length} warnings`),
      make("ul", {}, R.warnings.map((w) => make("li", {}, w)))) : null,
    make("div", { class: "tiles four" }, tiles));
}

// ---- decode steps at every batch ----

// One column of a curve at `running`: straight lines between the batches that were computed.
function value_at(curve, column, running) {
  const x = curve.running;
  const i = Math.max(1, x.findIndex((v) => v >= running));
  if (x.length < 2 || running <= x[0]) return column[0];
  if (running >= x[x.length - 1]) return column[x.length - 1];
  return column[i - 1] + ((column[i] - column[i - 1]) * (running - x[i - 1])) / (x[i] - x[i - 1]);
}

const most = B.curves.length ? B.curves[0].running[B.curves[0].running.length - 1] : 1;
const widest = Math.max(2, Math.min(2 * most, 1e6));

// To the right of the limit nothing more runs: the line goes on level.
function offered(curve, column) {
  return { x: [...curve.running, widest], y: [...column, column[column.length - 1]] };
}

function plateau_mark() {
  return { x: most, label: most < B.most_running ? `computed up to ${num(most)}` : limit_words };
}

function try_it() {
  const chosen = { curve: 0, offered: Math.min(most, Math.max(1, Math.round(R.running.mean))) };
  const slider = make("input", { type: "range", min: 0, max: 1000, step: 1, "aria-label": "requests in flight", oninput: (event) => {
    chosen.offered = Math.round(Math.pow(widest, event.target.value / 1000));
    update();
  } });
  slider.value = Math.round((1000 * Math.log(chosen.offered)) / Math.log(widest));
  const select = make("select", { onchange: (event) => { chosen.curve = Number(event.target.value); update(); } },
    B.curves.map((curve, i) => make("option", { value: i }, i === 0 ? `this scenario (${curve.law})` : `${curve.name} (${curve.law})`)));
  const count = make("b"), tiles = make("div", { class: "tiles" }), bar = make("div"), said = make("p", { class: "small soft" });
  const charts = [
    { title: "Decode tokens/s", get: (c) => c.tok_per_s, unit: "tokens/s" },
    { title: "Watts of one GPU during the step", get: (c) => c.gpu_w, unit: "W" },
    { title: "Joules per token, all GPUs", get: (c) => c.gpu_j_per_token.map((v) => v * GPUS), unit: "J/token", log: true },
  ];
  if (B.experts) charts.push({ title: `Experts awake in a layer, of ${B.experts}`, get: (c) => c.active_experts, unit: "experts", max: B.experts * 1.05 });
  const spec_of = (chart) => {
    const running = Math.min(chosen.offered, most);
    const curve = B.curves[chosen.curve];
    const line = (c, i) => ({ ...offered(c, chart.get(c)), name: i === chosen.curve ? chart.unit : "", colour: i === chosen.curve ? "accent" : "soft", faint: i !== chosen.curve });
    const others = B.curves.map(line).filter((_, i) => i !== chosen.curve);
    return { title: chart.title, height: 170, x: { label: "requests in flight", log: true, min: 1, max: widest },
      y: { log: chart.log, min: chart.log ? undefined : 0, max: chart.max }, lines: [...others, line(curve, chosen.curve)], marks: [plateau_mark()],
      dots: [{ x: chosen.offered, y: value_at(curve, chart.get(curve), running), colour: "mark", label: "the slider" }] };
  };
  const figures = charts.map((chart) => plot(spec_of(chart)));
  function update() {
    const curve = B.curves[chosen.curve], running = Math.min(chosen.offered, most), waiting = chosen.offered - running;
    const at = (column) => value_at(curve, column, running);
    count.textContent = num(chosen.offered);
    const ms = at(curve.step_ms);
    tiles.replaceChildren(...[
      tile("running", num(running), waiting > 0 ? `${num(waiting)} wait: ${limit_words}` : "nobody waits"),
      tile("decode step", `${num(ms)} ms`, "the gap between two tokens of a request"),
      tile("tokens/s", num(at(curve.tok_per_s)), `${num(at(curve.tok_per_s) / running)} per request`),
      tile("watts per GPU", num(at(curve.gpu_w)), `${num(at(curve.gpu_j_per_token) * GPUS)} J per token`),
      B.experts ? tile("experts awake", num(at(curve.active_experts)), `of ${B.experts} in a layer`) : null,
      B.experts ? tile("tokens per expert", num(at(curve.tokens_per_expert)), `mean of all; p99 ${num(at(curve.tokens_per_expert_p99))}; hottest ${num(at(curve.max_over_mean))} x mean`) : null,
    ].filter(Boolean));
    const shares = Object.fromEntries(PARTS.map((part) => [part, curve.part_ms[part] ? at(curve.part_ms[part]) / ms : 0]));
    bar.replaceChildren(split_bar(shares), key(PARTS.filter((p) => shares[p] > 0.001).map((p) => [`${p} ${percent(shares[p])}`, p])));
    const beyond = at(curve.beyond_tables);
    said.textContent = (beyond > 0.005 ? `${percent(beyond)} of this step's time comes from beyond the measured tables. ` : "")
      + `Steps alone: no prefill, no host gaps, each request holding ${num(B.context_tokens)} tokens; straight lines between ${curve.running.length} computed batches.`;
    figures.forEach((figure, i) => figure.redraw(spec_of(charts[i])));
  }
  const result = section("Try it: how many requests at once?",
    paragraph(B.experts
      ? `Drag from one request upwards: a token wakes ${B.top_k} of ${B.experts} experts in each layer, a crowd wakes them all. Past the ${limit_words} more requests only wait.`
      : `Drag from one request upwards. Past the ${limit_words} more requests only wait.`),
    make("div", { class: "sticky" }, make("div", { class: "tools" },
      make("label", { class: "slider" }, slider), make("span", {}, count, " requests in flight"),
      B.curves.length > 1 ? make("label", {}, "routing", select) : null)),
    tiles, make("h3", {}, "Where the step's time goes"), bar, make("div", { class: "row" }, figures), said);
  once_placed(update);
  return result;
}

function plateau() {
  const curve = B.curves[0], low_high = R.interval.output_tok_per_s || [];
  const steady = known(R.steady_state.output_tok_per_s);
  return section("Where throughput stops rising",
    plot({ title: "Output tokens/s against running requests", height: 260,
      x: { label: "running requests", log: true, min: 1, max: widest }, y: { min: 0 },
      lines: [{ ...offered(curve, curve.tok_per_s), name: "decode alone, tokens/s" }],
      marks: [plateau_mark()],
      dots: [{ x: R.running.mean, y: R.throughput.output_tok_per_s, low: low_high[0], high: low_high[1], label: "the whole run" },
        ...(steady ? [{ x: R.steady_state.running_mean, y: R.steady_state.output_tok_per_s, colour: "moe", label: "its steady state" }] : [])] }),
    key([["decode steps alone", "accent"], ["the whole run, with the band of its tables", "mark"], ...(steady ? [["its steady state", "moe"]] : [])]),
    paragraph("The run lies below the line by what prefill, host gaps, ramp-up and drain take.", "small soft"));
}

// ---- splits ----

function split_against_batch() {
  const curve = B.curves[0];
  const forms = {
    "share of the step": (column, i) => (y) => y / column[i],
    "per step": () => (y) => y,
    "per token": (_, i) => (y) => y / curve.running[i],
  };
  const energy_total = curve.gpu_j_per_token.map((v, i) => v * GPUS * curve.running[i]);
  const spec_of = (title, parts, totals, unit, form) => ({
    title: `${title}, ${form === "share of the step" ? form : `${unit} ${form}`}`, height: 230,
    x: { label: "running requests", log: true, min: 1, max: most }, y: { min: 0, max: form === "share of the step" ? 1 : undefined },
    areas: { x: curve.running, layers: Object.keys(parts).map((part) => ({ name: part, colour: part,
      y: parts[part].map((value, i) => forms[form](totals, i)(value)) })) } });
  const time = (form) => spec_of("Time of a decode step", curve.part_ms, curve.step_ms, "ms", form);
  const energy = (form) => spec_of("Energy of a decode step", curve.part_j, energy_total, "J", form);
  const first = "share of the step";
  const figures = [plot(time(first)), plot(energy(first))];
  const buttons = Object.keys(forms).map((form) => make("button", { "aria-pressed": form === first, onclick: (event) => {
    buttons.forEach((b) => b.setAttribute("aria-pressed", b === event.target));
    figures[0].redraw(time(form));
    figures[1].redraw(energy(form));
  } }, form));
  return [make("div", { class: "tools" }, buttons), make("div", { class: "row" }, figures),
    key(Object.keys(curve.part_ms).map((part) => [part, part]))];
}

function splits() {
  const joules = R.energy.j_total || 1;
  const rows = PARTS.filter((part) => R.time_split[part] >= 0.0005).sort((a, b) => R.time_split[b] - R.time_split[a]);
  const largest = Math.max(...rows.map((part) => R.time_split[part]), 1e-9);
  const table = make("table", {}, make("thead", {}, make("tr", {}, ["", "time", "", "energy", "decode", "prefill"].map((t) => make("th", {}, t)))),
    make("tbody", {}, rows.map((part) => make("tr", {}, make("td", {}, part), make("td", {}, percent(R.time_split[part])),
      make("td", { class: "words" }, make("span", { class: "bar", style: `width:${Math.max(1, (90 * R.time_split[part]) / largest)}px;background:var(--${part})` })),
      make("td", {}, percent(R.energy.split[part] / joules)), make("td", {}, percent(R.time_split_decode[part])), make("td", {}, percent(R.time_split_prefill[part]))))));
  return section("Where time and energy go",
    paragraph("Of the whole run; decode and prefill: of the time of their own steps and the host gaps before them.", "small soft"),
    make("div", { class: "scroll" }, table), split_against_batch());
}

