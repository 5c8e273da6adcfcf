"use strict";
// Draws the figure that the reader chooses. The page holds the tables as columns; medians are computed here, so that the
// description of the figure states exactly what it shows.
(() => {
  const tables = JSON.parse(document.getElementById("explorer-data").textContent);
  const form = document.getElementById("explorer-form");
  const picture = document.getElementById("explorer-picture");
  const words = document.getElementById("explorer-words");
  const about = document.getElementById("explorer-about");
  const numbers = document.getElementById("explorer-numbers");
  const filters = document.getElementById("explorer-filters");
  const ALL = "all";
  const NONE = "none";
  const MOST_NUMBERS = 500;
  const COLOURS = ["#0173b2", "#de8f05", "#029e73", "#d55e00", "#cc78bc", "#ca9161", "#56b4e9", "#949494", "#b59f00", "#333333"];
  const SHAPES = ["circle", "square", "diamond", "triangle-up", "cross", "triangle-down", "triangle-right", "triangle-left"];
  const BESIDE = 100; // pixels for the vertical axis and the menu
  const UNITS = {
    nanosecond: [["ns", 1], ["us", 1e3], ["ms", 1e6], ["s", 1e9]],
    second: [["ms", 1e-3], ["s", 1], ["h", 3600]],
    byte: [["B", 1], ["kB", 1e3], ["MB", 1e6], ["GB", 1e9]],
    "byte/second": [["B/s", 1], ["kB/s", 1e3], ["MB/s", 1e6], ["GB/s", 1e9], ["TB/s", 1e12]],
  };

  const start = JSON.parse(form.dataset.start); // choices that reproduce the first figure of the page
  const control = (name) => form.elements[name];
  const table = () => tables[control("table").value];
  const pinned = new Map(); // filters set by the reader: axis -> code of the label, or ALL
  const axis = (name) => table().axes.find((one) => one.name === name);
  const shown = () => ["x", "colour", "facet"].map((name) => control(name).value).filter((name) => name !== NONE);
  const filterOf = (name) => control(`only-${name}`);
  const several = (count, noun) => `${count} ${noun}${count === 1 ? "" : "s"}`;
  const short = (value) => String(Number(value.toPrecision(4)));

  function fill(select, options, chosen) {
    const known = options.some(([value]) => value === chosen);
    select.replaceChildren(...options.map(([value, text]) => new Option(text, value)));
    select.value = known ? chosen : options[0][0];
  }

  function makeFilters() {
    filters.replaceChildren(...table().axes.map((one) => {
      const select = element("select");
      select.name = `only-${one.name}`;
      fill(select, [[ALL, ALL], ...one.labels.map((text, code) => [String(code), String(text)])], ALL);
      return element("label", one.name, select);
    }));
  }

  const drawnAxes = () => ["x", "colour", "facet"].map((name) => axis(control(name).value));

  function groupsOf(rows, axes) {
    const groups = new Map();
    for (const row of rows) {
      const codes = axes.map((one) => (one ? one.codes[row] : 0));
      if (!groups.has(codes.join())) groups.set(codes.join(), { codes, rows: [] });
      groups.get(codes.join()).rows.push(row);
    }
    return [...groups.values()];
  }

  function mixes(one, groups) {
    return groups.some(({ rows }) => rows.some((row) => one.codes[row] !== one.codes[rows[0]]));
  }

  // x: the longest axis, numeric if possible; colour: the last other axis that is not determined by the rest.
  function chooseAxes(varying, rows) {
    const names = varying.length ? varying.map((one) => one.name) : [table().axes[0].name];
    const usual = names.filter((name) => !["experiment", "schedule", "seed", "job"].includes(name));
    const length = (name) => axis(name).labels.length + (axis(name).numeric ? table().rows : 0);
    const x = usual.reduce((best, name) => (length(name) > length(best) ? name : best), usual[0]);
    const follows = (name) => !mixes(axis(name), groupsOf(rows, varying.filter((one) => one.name !== name)));
    const options = (taken) => names.filter((name) => !taken.includes(name)).map((name) => [name, name]);
    fill(control("x"), options([]), names.includes(control("x").value) ? control("x").value : x);
    const colour = usual.filter((name) => name !== control("x").value && !follows(name)).at(-1);
    const before = control("colour").value;
    const keep = before === NONE || (names.includes(before) && before !== control("x").value);
    fill(control("colour"), [[NONE, NONE], ...options([control("x").value])], keep ? before : colour);
    fill(control("facet"), [[NONE, NONE], ...options([control("x").value, control("colour").value])], control("facet").value);
  }

  // An axis has all labels if it is drawn or if no mark would mix two of them; else the reader's choice or the first.
  function limit(one, rows) {
    if (pinned.has(one.name) && pinned.get(one.name) !== ALL && !rows.some((row) => one.codes[row] === pinned.get(one.name))) {
      pinned.delete(one.name);
    }
    const apart = !["experiment", "schedule"].includes(one.name) && !mixes(one, groupsOf(rows, drawnAxes()));
    const free = one.name === "seed" || shown().includes(one.name) || apart;
    const value = pinned.get(one.name) ?? (free || !rows.length ? ALL : one.codes[rows[0]]);
    filterOf(one.name).value = String(value);
    return value === ALL ? rows : rows.filter((row) => one.codes[row] === value);
  }

  // Sets all controls by the reader's choices; returns the rows to draw and the axes that vary.
  function settle(metric) {
    const experiment = (axis("experiment") || axis("schedule"));
    const known = Array.from({ length: table().rows }, (_, row) => row).filter((row) => metric.values[row] !== null);
    const part = experiment ? limit(experiment, known) : known;
    const varying = table().axes.filter((one) => one === experiment ? one.labels.length > 1 : mixes(one, [{ rows: part }]));
    chooseAxes(varying, part);
    table().axes.forEach((one) => { filterOf(one.name).parentNode.hidden = !varying.includes(one); });
    const chosen = [...pinned.keys()].reverse().map(axis).filter((one) => varying.includes(one));
    const order = [...chosen, ...varying.filter((one) => !chosen.includes(one))].filter((one) => one !== experiment);
    return { rows: order.reduce((rows, one) => limit(one, rows), part), part, varying };
  }

  function unitOf(metric, rows) {
    const largest = Math.max(...rows.map((row) => Math.abs(metric.values[row])));
    const units = UNITS[metric.unit] ?? [[null, 1]];
    const ofFigure = units.find(([name]) => metric.name === start.metric && name === start.unit);
    if (ofFigure) return ofFigure;
    return units.reduce((best, one) => (largest >= one[1] ? one : best), units[0]);
  }

  function median(sorted) {
    const middle = sorted.length >> 1;
    return sorted.length % 2 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
  }

  function choice() {
    const metric = table().metrics.find((one) => one.name === control("metric").value);
    const { rows: selected, part, varying } = settle(metric);
    const scale = control("yscale").value;
    const rows = scale === "log" ? selected.filter((row) => metric.values[row] > 0) : selected;
    const [unit, factor] = unitOf(metric, rows);
    const [x, colour, facet] = drawnAxes();
    const along = x.numeric ? rows.map((row) => x.labels[x.codes[row]]) : [];
    const automatic = Math.min(...along) > 0 && Math.max(...along) >= 4 * Math.min(...along) ? "log" : "linear"; // as figures
    const asked = control("xscale").value;
    const xscale = !x.numeric ? "categories" : asked === "auto" ? automatic : asked;
    const title = unit ? `${metric.name.replace(/_[^_]*$/, "")} (${unit})` : metric.name;
    const every = control("marks").value === "rows";
    const unpositive = selected.length - rows.length;
    return { metric, rows, part, varying, unpositive, factor, x, colour, facet, title, scale, xscale, every };
  }

  function summarise(chosen) {
    const text = (one, code) => (one ? String(one.labels[code]) : "");
    const inOrder = groupsOf(chosen.rows, drawnAxes())
      .sort((a, b) => a.codes[2] - b.codes[2] || a.codes[1] - b.codes[1] || a.codes[0] - b.codes[0]);
    return inOrder.map(({ codes, rows }) => {
      const values = rows.map((row) => chosen.metric.values[row] / chosen.factor).sort((a, b) => a - b);
      return {
        x: chosen.x.labels[codes[0]], colour: text(chosen.colour, codes[1]), facet: text(chosen.facet, codes[2]),
        y: median(values), low: values[0], high: values.at(-1), count: values.length, values, rows,
      };
    });
  }

  // Axes over which medians are computed.
  function mixed(chosen, groups) {
    return chosen.varying.filter((one) => !shown().includes(one.name) && mixes(one, groups)).map((one) => one.name);
  }

  // Labels of a drawn axis without rows under these choices.
  function lost(chosen, one) {
    const has = (rows) => new Set(rows.map((row) => one.codes[row]));
    const drawn = has(chosen.rows);
    const gone = filterOf(one.name).value === ALL ? [...has(chosen.part)].filter((code) => !drawn.has(code)) : [];
    return gone.length ? ` Without rows: ${one.name} ${gone.map((code) => one.labels[code]).join(", ")}.` : "";
  }

  function describe(chosen, groups) {
    const over = mixed(chosen, groups);
    const only = chosen.varying.filter((one) => filterOf(one.name).value !== ALL)
      .map((one) => `${one.name} ${one.labels[Number(filterOf(one.name).value)]}`);
    const parts = [
      `${chosen.title} of table ${control("table").value} against ${chosen.x.name}`,
      chosen.colour && `coloured by ${chosen.colour.name}`,
      chosen.facet && `one panel for each ${chosen.facet.name}`,
      only.length && `only ${only.join(", ")}`,
    ];
    const medians = over.length ? `, medians over ${over.join(" and ")}; whiskers: min to max` : "";
    const drawn = chosen.every ? several(chosen.rows.length, "row")
      : `${several(groups.length, "value")} from ${several(chosen.rows.length, "row")}${medians}`;
    const unpositive = chosen.unpositive ? ` ${several(chosen.unpositive, "row")} not above zero left out.` : "";
    const gone = [chosen.x, chosen.colour, chosen.facet].filter(Boolean).map((one) => lost(chosen, one)).join("");
    return `${parts.filter(Boolean).join(", ")}. ${drawn}.${unpositive}${gone}`;
  }

  function labelsIn(one, groups, field) {
    const present = new Set(groups.map((group) => String(group[field])));
    return one.labels.map(String).filter((label) => present.has(label));
  }

  function tooltip(chosen) {
    const axes = [["facet", chosen.facet], ["colour", chosen.colour], ["x", chosen.x]].filter(([, one]) => one);
    const y = { field: "y", title: chosen.title, format: ".4~g" };
    return [...axes.map(([field, one]) => ({ field, title: one.name })), y, { field: "count", title: "rows" }];
  }

  function colours(chosen, groups, room) {
    const domain = labelsIn(chosen.colour, groups, "colour");
    const few = domain.length <= COLOURS.length;
    const longest = Math.max(...domain.map((label) => Math.min(label.length, 24)));
    const columns = Math.max(1, Math.min(domain.length, Math.floor(room / (40 + 7 * longest))));
    const same = { field: "colour", type: "nominal", title: chosen.colour.name, legend: { columns } };
    return {
      color: { ...same, scale: { domain, ...(few ? { range: COLOURS.slice(0, domain.length) } : { scheme: "viridis" }) } },
      shape: { ...same, scale: { domain, range: domain.map((_, place) => SHAPES[place % SHAPES.length]) } },
      offset: { xOffset: { field: "colour", type: "nominal", scale: { domain } } },
    };
  }

  function horizontal(chosen, groups) {
    const title = chosen.x.name;
    if (chosen.xscale === "categories") {
      const slanted = { labelAngle: -30, labelAlign: "right" };
      return { field: "x", type: "ordinal", sort: labelsIn(chosen.x, groups, "x"), title, axis: slanted };
    }
    const values = [...new Set(groups.map((one) => one.x))];
    const log = chosen.xscale === "log" && Math.min(...values) > 0;
    // Labels as in the study: Vega-Lite would round 0.5 to 1.
    const ticks = values.length <= 12 ? { values, labelExpr: "toString(datum.value)" } : {};
    return {
      field: "x", type: "quantitative", title, scale: { ...(log ? { type: "log", base: 2 } : { zero: false }), nice: false, padding: 12 },
      axis: { ...ticks, labelOverlap: "greedy" },
    };
  }

  function layers(chosen, groups, room) {
    const scale = { log: { type: "log", nice: false, padding: 12 }, linear: { zero: false }, zero: { zero: true } }[chosen.scale];
    const y = { field: "y", type: "quantitative", title: chosen.title, scale };
    const { color, shape, offset } = chosen.colour ? colours(chosen, groups, room) : {};
    const beside = chosen.xscale === "categories" ? offset : {};
    const all = { x: horizontal(chosen, groups), y, ...(color && { color }), ...beside, tooltip: tooltip(chosen) };
    const symbol = { type: "point", size: 60, strokeWidth: 2, opacity: 1 }; // hollow, so that coinciding marks are seen
    const point = { mark: symbol, encoding: { ...all, ...(shape && { shape }) } };
    const line = { mark: { type: "line", strokeWidth: 1.6 }, encoding: all };
    const ends = { y: { ...y, field: "low" }, y2: { field: "high" } };
    const whisker = { mark: { type: "rule", strokeWidth: 1.2 }, encoding: { ...all, ...ends } };
    if (chosen.every) return [point];
    return [...(chosen.xscale === "categories" ? [] : [line]), ...(mixed(chosen, groups).length ? [whisker] : []), point];
  }

  function specification(chosen, groups, text) {
    const room = picture.clientWidth - BESIDE;
    const panels = chosen.facet ? labelsIn(chosen.facet, groups, "facet") : [""];
    const across = Math.max(1, Math.min(panels.length, Math.floor(room / 260)));
    const width = Math.max(150, Math.floor(room / across - 20));
    const values = groups.flatMap(({ values: every, rows, ...one }) =>
      (chosen.every ? every.map((y) => ({ ...one, y, count: 1 })) : [one]));
    const panel = { width, height: panels.length > 1 ? 200 : 320, layer: layers(chosen, groups, room) };
    const letters = { labelFontSize: 12, titleFontSize: 13, titleFontWeight: "normal" };
    const facet = chosen.facet && { field: "facet", type: "nominal", sort: panels, title: chosen.facet.name, header: letters };
    return {
      $schema: "https://vega.github.io/schema/vega-lite/v6.json",
      description: text,
      data: { values },
      ...(facet ? { facet, columns: across, spec: panel } : panel),
      config: {
        font: "system-ui, 'Segoe UI', 'DejaVu Sans', sans-serif",
        axis: { ...letters, labelLimit: 140 },
        legend: { ...letters, orient: "top", direction: "horizontal", labelLimit: 200, symbolSize: 90 },
        view: { stroke: "#d8dde3" },
      },
    };
  }

  function element(kind, ...inside) {
    const made = document.createElement(kind);
    made.append(...inside);
    return made;
  }

  function writeNumbers(chosen, groups) {
    const axes = [["facet", chosen.facet], ["colour", chosen.colour], ["x", chosen.x]].filter(([, one]) => one);
    const head = [...axes.map(([, one]) => one.name), chosen.title, "min", "max", "rows"];
    const line = (kind, texts) => element("tr", ...texts.map((text) => element(kind, text)));
    const body = groups.slice(0, MOST_NUMBERS)
      .map((one) => line("td", [...axes.map(([field]) => one[field]), ...[one.y, one.low, one.high].map(short), one.count]));
    const more = groups.length - body.length;
    numbers.replaceChildren(line("th", head), ...body, ...(more > 0 ? [line("td", [`and ${more} more`])] : []));
  }

  let latest = 0;
  async function draw() {
    const turn = ++latest;
    const chosen = choice();
    control("xscale").disabled = !chosen.x.numeric;
    const groups = summarise(chosen);
    const text = groups.length ? describe(chosen, groups) : "No rows match.";
    words.textContent = text;
    about.textContent = `${chosen.metric.name}: ${chosen.metric.about}.`;
    writeNumbers(chosen, groups);
    if (!groups.length) { picture.replaceChildren(); return; }
    const stage = document.createElement("div");
    picture.setAttribute("aria-busy", "true");
    const made = await vegaEmbed(stage, specification(chosen, groups, text), {
      renderer: "svg", actions: { export: true, source: false, compiled: false, editor: false }, downloadFileName: document.title,
    });
    if (turn !== latest) { made.finalize(); return; }
    stage.querySelector("summary")?.setAttribute("aria-label", "Save the picture");
    picture.replaceChildren(stage);
    picture.removeAttribute("aria-busy");
  }

  function chooseTable() {
    pinned.clear();
    fill(control("metric"), table().metrics.map((one) => [one.name, one.name]), control("metric").value);
    makeFilters();
    ["x", "colour", "facet"].forEach((name) => control(name).replaceChildren());
  }

  let before = [];
  form.addEventListener("change", ({ target }) => {
    if (target.name === "table") chooseTable();
    if (target.name.startsWith("only-")) {
      const name = target.name.slice("only-".length);
      pinned.delete(name);
      pinned.set(name, target.value === ALL ? ALL : Number(target.value));
    }
    // An axis that is newly drawn, or no longer drawn, is not filtered.
    const moved = [...before, ...shown()].filter((name) => before.includes(name) !== shown().includes(name));
    moved.forEach((name) => pinned.delete(name));
    draw();
    before = shown();
  });
  let width = picture.clientWidth;
  new ResizeObserver(() => {
    if (picture.clientWidth !== width) { width = picture.clientWidth; draw(); }
  }).observe(picture);
  function begin() {
    fill(control("table"), Object.keys(tables).map((name) => [name, name]), start.table);
    chooseTable();
    if (control("table").value !== start.table) return;
    for (const name of ["metric", "xscale", "yscale"]) {
      if ([...control(name).options].some((one) => one.value === start[name])) control(name).value = start[name];
    }
    const known = ["x", "colour", "facet"].filter((name) => axis(start[name]));
    known.forEach((name) => control(name).replaceChildren(new Option(start[name])));
    for (const [name, label] of Object.entries(start.only)) {
      const code = axis(name)?.labels.findIndex((one) => String(one) === String(label)) ?? -1;
      if (code >= 0) pinned.set(name, code);
    }
  }
  begin();
  draw();
  before = shown();
})();
