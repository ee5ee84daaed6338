// Charts: the server draws a picture at once, and plotly.js, where it is installed, draws it again so that it can be
// hovered, zoomed and clicked. Both come from the same record. Texts are set as text only.

const { narrow: NARROW, wide: WIDE, full: FULL, media: MEDIA, plotly: PLOTLY, trial: TRIAL } = document.body.dataset;
const SETTINGS = { displayModeBar: false, responsive: true, doubleClick: "reset", showTips: false };
const DARK = matchMedia("(prefers-color-scheme: dark)");

export const isDark = () => (document.documentElement.dataset.theme ?? (DARK.matches ? "dark" : "light")) === "dark";

let library = null;

// The script is large, so it is loaded when the page has been drawn.
function loadLibrary() {
  library ??= new Promise((resolve, reject) => {
    const script = document.createElement("script");
    script.src = PLOTLY;
    script.onload = () => resolve(window.Plotly);
    script.onerror = reject;
    document.head.append(script);
  });
  return library;
}

const tip = document.getElementById("tip");

function showTip(lines, event) {
  tip.replaceChildren(...lines.map((line, place) => {
    const row = document.createElement(place ? "div" : "b");
    row.textContent = line;
    return row;
  }));
  tip.hidden = false;
  const { offsetWidth: wide, offsetHeight: tall } = tip;
  tip.style.left = `${Math.max(Math.min(event.clientX + 14, innerWidth - wide - 8), 4)}px`;
  tip.style.top = `${event.clientY + tall + 20 > innerHeight ? event.clientY - tall - 10 : event.clientY + 14}px`;
}

const short = (value) => (typeof value === "number" ? String(Number(value.toPrecision(4))) : String(value));

export class Chart {
  // ``table`` has the configurations of the trials, where the page has a table of them.
  constructor(figure, table) {
    this.figure = figure;
    this.canvas = figure.querySelector(".canvas");
    this.table = table;
    this.version = document.body.dataset.version ?? "";
    this.seen = !("lazy" in figure.dataset);
    this.near = false;
    this.plot = null; // the element of plotly.js
    for (const choice of figure.querySelectorAll(".controls select")) {
      choice.addEventListener("change", () => this.draw());
    }
  }

  address(more) {
    const [path, given] = this.figure.dataset.source.split("?");
    const query = new URLSearchParams(given);
    for (const choice of this.figure.querySelectorAll(".controls select")) {
      if (choice.selectedIndex) query.set(choice.name, choice.value);
    }
    for (const [name, value] of Object.entries({ v: this.version, ...more })) query.set(name, value);
    if (isDark()) query.set("theme", "dark");
    return `${path}?${query}`;
  }

  get width() {
    return matchMedia(MEDIA).matches ? NARROW : this.figure.classList.contains("large") ? FULL : WIDE;
  }

  // Draw what the page shows now: a picture, or what plotly.js makes of it.
  async draw() {
    this.seen = true;
    if (this.plot) return this.drawPlot();
    await this.drawPicture();
    if (PLOTLY && this.near && document.readyState === "complete") await this.upgrade();
  }

  // A picture is loaded before it takes the place of the one that is shown, so that the page does not flicker.
  async drawPicture() {
    const image = new Image();
    image.alt = this.figure.dataset.title;
    image.width = this.width;
    image.src = this.address({ width: this.width });
    this.figure.setAttribute("aria-busy", "true");
    await image.decode().catch(() => {});
    this.figure.removeAttribute("aria-busy");
    if (!this.plot) this.canvas.replaceChildren(image);
  }

  async upgrade() {
    if (!PLOTLY || this.plot || !this.seen) return;
    await loadLibrary().then(() => this.drawPlot(), () => {});
  }

  async drawPlot() {
    const Plotly = await loadLibrary();
    const answer = await fetch(this.address({ width: this.width, as: "values" }));
    if (!answer.ok) return;
    const { data, layout } = await answer.json();
    const paper = getComputedStyle(document.body).getPropertyValue("--paper");
    for (const trace of data) if (trace.mode === "text") trace.textfont = { shadow: `0 0 3px ${paper}, 0 0 3px ${paper}, 0 0 5px ${paper}` };
    if (!data.length) { // a sentence in place of a picture
      this.plot = null;
      await this.drawPicture();
      return;
    }
    this.values = { data, layout: this.fit(layout) };
    if (!this.plot) {
      this.plot = document.createElement("div");
      this.plot.className = "plot";
      this.plot.setAttribute("role", "img");
      this.plot.setAttribute("aria-label", this.figure.dataset.title);
      const shown = this.canvas.firstElementChild;
      this.plot.hidden = false;
      this.canvas.replaceChildren(this.plot);
      await Plotly.newPlot(this.plot, data, structuredClone(this.values.layout), SETTINGS).catch((error) => {
        this.plot = null;
        this.canvas.replaceChildren(shown);
        throw error;
      });
      this.follow(Plotly);
    } else {
      await Plotly.react(this.plot, data, structuredClone(this.values.layout), SETTINGS);
    }
    this.figure.dataset.interactive = "";
  }

  // The layout of the server, for the page: no title of its own, as wide as its place, and on its background.
  fit(layout) {
    const { title, width, ...rest } = layout;
    rest.paper_bgcolor = rest.plot_bgcolor = "rgba(0,0,0,0)";
    rest.margin = { ...rest.margin, t: 30 };
    rest.height -= 30;
    rest.autosize = true;
    rest.uirevision = this.address({ v: "" }); // what was zoomed stays so when new readings come
    if (this.figure.id === "parallel") {
      rest.dragmode = "select";
      rest.yaxis = { ...rest.yaxis, showline: false }; // its axes are drawn as lines
    }
    return rest;
  }

  follow(Plotly) {
    this.plot.on("plotly_hover", ({ points, event }) => {
      const [point] = points;
      const trial = point.customdata;
      this.plot.style.cursor = trial === undefined ? "" : "pointer";
      if (trial === undefined) return;
      const name = point.data.name ? `, ${point.data.name}` : "";
      const shown = [`trial ${trial}${name}`];
      const own = this.figure.id === "parallel" || point.data.type === "bar" ? null : point;
      if (own) shown.push(`${own.xaxis.title.text || "x"}: ${short(own.x)}`, `${own.yaxis.title.text || "y"}: ${short(own.y)}`);
      showTip([...shown, ...(this.table?.facts(trial) ?? []), "click to open"], event);
    });
    this.plot.on("plotly_unhover", () => { tip.hidden = true; });
    this.plot.on("plotly_click", ({ points }) => {
      if (points[0].customdata !== undefined && TRIAL) location.href = `${TRIAL}/${points[0].customdata}`;
    });
    const reset = document.createElement("button");
    reset.type = "button";
    reset.className = "reset";
    reset.textContent = "reset zoom";
    reset.hidden = true;
    reset.addEventListener("click", async () => {
      reset.hidden = true;
      const layout = { ...structuredClone(this.values.layout), uirevision: performance.now() };
      await Plotly.react(this.plot, this.values.data, layout, SETTINGS);
    });
    this.figure.querySelector("figcaption").append(reset);
    this.plot.on("plotly_relayout", (changed) => {
      reset.hidden = !Object.keys(changed).some((name) => /axis\d*\.range/.test(name));
    });
    if (this.figure.id === "parallel" && this.table) {
      this.plot.on("plotly_selected", () => this.brush(Plotly));
      this.plot.on("plotly_deselect", () => this.unbrush(Plotly));
    }
  }

  // The ranges that were drawn across the axes become a filter of the table.
  async brush(Plotly) {
    const boxes = (this.plot.layout.selections ?? []).map(({ x0, x1, y0, y1 }) => ({
      x: [Math.min(x0, x1), Math.max(x0, x1)],
      y: [Math.min(y0, y1), Math.max(y0, y1)],
    }));
    const names = this.values.layout.xaxis.ticktext;
    const passing = new Map(); // the trials that pass through a range of each axis that has one
    for (const axis of names.keys()) {
      const ranges = boxes.filter(({ x }) => x[0] <= axis && axis <= x[1]).map(({ y }) => y);
      if (ranges.length) passing.set(axis, this.through(axis, ranges));
    }
    if (!passing.size) return this.unbrush(Plotly);
    this.table.filter([...passing].map(([axis, trials]) => this.table.condition(names[axis], trials)).join(" and "));
    const chosen = [...passing.values()].reduce((one, other) => one.filter((trial) => other.includes(trial)));
    const lines = { ...this.line(new Set(chosen)), line: { color: isDark() ? "#ffffff" : "#000000", width: 1.6 } };
    const faint = this.values.data.map((trace) => (trace.customdata ? { ...trace, opacity: 0.08 } : trace));
    await Plotly.react(this.plot, [...faint, lines], this.plot.layout, SETTINGS);
  }

  through(axis, ranges) {
    const found = new Set();
    for (const { x, y, customdata } of this.values.data) {
      customdata?.forEach((trial, i) => {
        if (x[i] === axis && ranges.some(([low, high]) => low <= y[i] && y[i] <= high)) found.add(trial);
      });
    }
    return [...found];
  }

  // The lines of some trials as one trace.
  line(trials) {
    const found = { type: "scatter", mode: "lines", x: [], y: [], customdata: [], showlegend: false, name: "" };
    for (const { x, y, customdata } of this.values.data) {
      customdata?.forEach((trial, i) => {
        if (!trials.has(trial)) return;
        found.x.push(x[i]);
        found.y.push(y[i]);
        found.customdata.push(trial);
      });
    }
    return found;
  }

  async unbrush(Plotly) {
    this.table.filter("");
    await Plotly.react(this.plot, this.values.data, { ...this.plot.layout, selections: [] }, SETTINGS);
  }

  update(version) {
    this.version = version;
    return this.seen && (this.near || !this.plot) ? this.draw() : Promise.resolve();
  }
}

// Charts are drawn when they are scrolled to, one after the other.
export function watch(charts) {
  let queue = document.readyState === "complete" ? Promise.resolve() : new Promise((go) => addEventListener("load", go));
  const idle = () => new Promise((go) => (window.requestIdleCallback ?? setTimeout)(go, { timeout: 500 }));
  const seen = new IntersectionObserver((entries) => {
    for (const { target, isIntersecting } of entries) {
      const chart = charts.find(({ figure }) => figure === target);
      chart.near = isIntersecting;
      if (!isIntersecting) continue;
      if (!chart.seen) chart.draw();
      if (PLOTLY) queue = queue.then(idle).then(() => chart.near && chart.upgrade()).catch(() => {});
    }
  }, { rootMargin: "300px" });
  for (const { figure } of charts) seen.observe(figure);
  DARK.addEventListener("change", () => redraw(charts));
}

export const redraw = (charts) => charts.filter(({ seen }) => seen).forEach((chart) => chart.draw());
