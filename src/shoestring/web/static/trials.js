// The table of all trials: sorted by value, filtered as it is typed, with the columns that were chosen. Only the rows
// that are seen are drawn. Texts are set as text only.

const ROW = 27; // pixels of a row
const EXTRA = 20; // rows that are drawn above and below what is seen
const HIDDEN = ["arm", "seconds"]; // unless they are chosen

const at = (id) => document.getElementById(id);
const quoted = (text) => (/[\s,<>=!"']/.test(text) ? `"${text}"` : text);

export class Trials {
  constructor(place) {
    this.place = place;
    this.columns = [];
    this.rows = [];
    this.shown = [];
    this.picked = new Set();
    this.order = null;
    this.position = 0;
    place.addEventListener("scroll", () => this.draw());
    at("search").addEventListener("input", () => this.select());
    for (const button of document.querySelectorAll("button.export")) {
      button.addEventListener("click", () => this.save(button.dataset.format));
    }
  }

  async load(since = this.position) {
    const answer = await fetch(`${this.place.dataset.source}?since=${since}`);
    if (!answer.ok) return;
    const found = await answer.json();
    if (found.position < this.position) location.reload(); // another study of this name
    if (this.columns.length && found.columns.length !== this.columns.length) { // a metric that was not there before
      this.columns = [];
      this.body = null;
      if (since) return this.load(0);
    }
    this.over = found.over;
    if (!this.body) this.build(found);
    this.position = found.position;
    for (const cells of found.rows) this.rows[cells[0]] = { cells, words: cells.join(" ").toLowerCase() };
    this.suggest();
    this.select();
  }

  index(name) {
    const own = this.columns.indexOf(`config.${name}`);
    return own < 0 ? this.columns.indexOf(name) : own;
  }

  get goal() {
    return this.columns.indexOf("recommended");
  }

  build({ columns, parameters, largest, iterative, rows }) {
    Object.assign(this, { columns, parameters, largest, iterative });
    this.order ??= { index: this.goal, up: !largest };
    const stored = this.stored();
    const said = rows.some((cells) => cells[columns.indexOf("message")]);
    const usual = (name) => !HIDDEN.includes(name) && (iterative || !["step", "value"].includes(name)) && (said || name !== "message");
    this.visible = columns.map((name) => (stored ? stored.includes(name) : usual(name)));
    const table = document.createElement("table");
    const head = table.createTHead().insertRow();
    const mark = document.createElement("th");
    mark.scope = "col";
    mark.append(unseen("mark"));
    head.append(mark);
    columns.forEach((name, index) => {
      const cell = document.createElement("th");
      const button = document.createElement("button");
      cell.scope = "col";
      button.type = "button";
      button.textContent = name;
      cell.dataset.column = name;
      button.addEventListener("click", () => this.sort(index));
      cell.append(button);
      head.append(cell);
    });
    this.head = head;
    this.body = table.createTBody();
    this.place.replaceChildren(table);
    this.buildChooser();
    this.markOrder();
  }

  key() {
    return `shoestring columns ${document.body.dataset.study}`;
  }

  stored() {
    try {
      return JSON.parse(localStorage.getItem(this.key()));
    } catch {
      return null;
    }
  }

  buildChooser() {
    const list = at("columns").querySelector("div");
    list.replaceChildren(...this.columns.map((name, index) => {
      const label = document.createElement("label");
      const box = document.createElement("input");
      box.type = "checkbox";
      box.checked = this.visible[index];
      box.disabled = index === 0;
      box.addEventListener("change", () => {
        this.visible[index] = box.checked;
        try {
          localStorage.setItem(this.key(), JSON.stringify(this.columns.filter((_, i) => this.visible[i])));
        } catch { /* a browser that stores nothing remembers nothing */ }
        this.markOrder();
        this.draw();
      });
      label.append(box, ` ${name}`);
      return label;
    }));
  }

  sort(index) {
    const up = !(this.order && this.order.index === index && this.order.up);
    this.order = { index, up };
    this.markOrder();
    this.select();
  }

  markOrder() {
    let total = 30;
    this.head.querySelectorAll("th[data-column]").forEach((cell, index) => {
      cell.ariaSort = index === this.order.index ? (this.order.up ? "ascending" : "descending") : null;
      cell.hidden = !this.visible[index];
      const wide = cell.dataset.column === "message" ? 260 : 34 + 8.5 * Math.max(cell.dataset.column.length, 8);
      cell.style.width = `${wide}px`;
      if (!cell.hidden) total += wide;
    });
    this.place.firstElementChild.style.minWidth = `${total}px`;
  }

  // Conditions that would find something in this study, to be clicked.
  suggest() {
    if (at("examples").children.length || !this.rows.length) return;
    const found = [];
    const values = this.rows.map((row) => row?.cells[this.goal]).filter((value) => typeof value === "number").sort((a, b) => a - b);
    const tenth = values[Math.floor((this.largest ? 0.9 : 0.1) * (values.length - 1))];
    if (tenth !== undefined) found.push(`recommended${this.largest ? ">=" : "<="}${round(tenth, this.largest ? -1 : 1)}`);
    const first = this.parameters[0];
    const sample = this.rows[0]?.cells[this.columns.indexOf(first)];
    if (typeof sample === "number") found.push(`${first}<${Number(sample.toPrecision(2))}`);
    else if (sample !== undefined && sample !== null) found.push(`${first}=${quoted(String(sample))}`);
    const states = new Set(this.rows.map((row) => row && this.state(row)));
    for (const state of ["failed", "stopped early", "running"]) if (states.has(state)) found.push(`state=${quoted(state)}`);
    if (found.length > 1) found.push(`${found[0]} and ${found[1]}`);
    for (const text of found) {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = text;
      button.addEventListener("click", () => this.filter(text));
      at("examples").append(" ", button);
    }
  }

  filter(text) {
    at("search").value = text;
    this.select();
  }

  // What is in common to some trials in a column, as a condition.
  condition(name, trials) {
    const index = name === "value" ? this.goal : this.index(name);
    const found = trials.map((trial) => this.rows[trial]?.cells[index]).filter((value) => value !== null && value !== undefined);
    const column = this.columns[index];
    if (!found.length) return `${column}="nothing"`;
    if (found.every((value) => typeof value === "number")) {
      return `${column}>=${round(Math.min(...found), -1)} and ${column}<=${round(Math.max(...found), 1)}`;
    }
    return `${column}="${[...new Set(found.map(String))].join("|")}"`;
  }

  // What a chart says of a trial.
  facts(trial) {
    const row = this.rows[trial];
    if (!row) return [];
    const shown = ["recommended", ...this.parameters];
    return shown.map((name) => [name, row.cells[this.columns.indexOf(name)]])
      .filter(([, value]) => value !== null && value !== undefined)
      .map(([name, value]) => `${name}: ${typeof value === "number" ? Number(value.toPrecision(4)) : value}`);
  }

  // A paused trial of a study that is over will not go on.
  state(row) {
    return this.over && row.cells[2] === "paused" ? "stopped early" : row.cells[2];
  }

  // Words must all occur; "column<value" compares, and "column=one|two" is one of several.
  tests() {
    const parts = at("search").value.match(/(?:"[^"]*"|'[^']*'|[^,"'])+/g) ?? [];
    const conditions = parts.flatMap((part) => part.split(/\s+and\s+/)).map((part) => part.trim()).filter(Boolean);
    this.unknown = "";
    return conditions.map((part) => {
      const match = part.match(/^([^<>=!]+?)\s*(<=|>=|!=|==|=|<|>)\s*["']?(.+?)["']?$/);
      const index = match ? this.columns.indexOf(match[1]) : -1;
      if (index < 0) {
        if (match) this.unknown = `; there is no column ${match[1]}`;
        const words = part.toLowerCase().split(/\s+/);
        return (row) => words.every((word) => row.words.includes(word) || this.state(row).includes(word));
      }
      const [, , sign, value] = match;
      if (index === 2 && value === "stopped early") return (row) => compare(this.state(row), sign, value);
      const number = Number(value);
      return (row) => compare(row.cells[index], sign, Number.isNaN(number) ? value : number);
    });
  }

  select() {
    if (!this.body) return;
    const tests = this.tests();
    this.shown = this.rows.filter((row) => tests.every((test) => test(row)));
    const { index, up } = this.order;
    const way = up ? 1 : -1;
    this.shown.sort((a, b) => {
      const [x, y] = [a.cells[index], b.cells[index]];
      if (x === null || y === null) return (x === null) - (y === null) || a.cells[0] - b.cells[0];
      return (x < y ? -1 : x > y ? 1 : a.cells[0] - b.cells[0]) * way;
    });
    at("count").textContent = `${this.shown.length} of ${this.rows.length} trials${this.unknown}`;
    this.draw();
  }

  draw() {
    const first = Math.max(0, Math.floor(this.place.scrollTop / ROW) - EXTRA);
    const count = Math.ceil(innerHeight / ROW) + 2 * EXTRA;
    const visible = this.shown.slice(first, first + count);
    const below = this.shown.length - first - visible.length;
    this.body.replaceChildren(this.gap(first), ...visible.map((row) => this.line(row)), this.gap(below));
    if (!this.rows.length) this.body.replaceChildren(this.sentence("No trial has started yet."));
  }

  gap(rows) {
    const line = this.sentence("");
    line.className = "gap";
    line.firstElementChild.style.height = `${rows * ROW}px`;
    line.hidden = rows <= 0;
    return line;
  }

  sentence(text) {
    const line = document.createElement("tr");
    const cell = line.insertCell();
    cell.colSpan = this.columns.length + 1;
    cell.textContent = text;
    return line;
  }

  line(row) {
    const line = document.createElement("tr");
    const box = document.createElement("input");
    box.type = "checkbox";
    box.checked = this.picked.has(row.cells[0]);
    box.ariaLabel = `compare trial ${row.cells[0]}`;
    box.addEventListener("change", () => this.picked[box.checked ? "add" : "delete"](row.cells[0]));
    line.insertCell().append(box);
    row.cells.forEach((value, index) => {
      const cell = line.insertCell();
      cell.hidden = !this.visible[index];
      if (index === 0) {
        const link = document.createElement("a");
        link.href = `${this.place.dataset.trial ?? document.body.dataset.trial}/${value}`;
        link.textContent = value;
        cell.append(link);
      } else if (index === 2) {
        cell.textContent = this.state(row);
      } else {
        cell.textContent = value === null ? "" : typeof value === "number" ? Number(value.toPrecision(4)) : value;
        cell.title = value === null ? "" : value;
      }
    });
    return line;
  }

  // The rows and the columns that are shown, as a file.
  save(format) {
    const columns = this.columns.filter((_, index) => this.visible[index]);
    const rows = this.shown.map((row) => row.cells.filter((_, index) => this.visible[index]));
    const text = format === "csv"
      ? [columns, ...rows].map((row) => row.map(field).join(",")).join("\r\n")
      : JSON.stringify(rows.map((row) => Object.fromEntries(row.map((value, i) => [columns[i], value]))), null, 1);
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([text], { type: format === "csv" ? "text/csv" : "application/json" }));
    link.download = `${document.body.dataset.study}.${format}`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  }
}

// A field of CSV. A spreadsheet would run a text that starts like a formula, so it gets an apostrophe.
function field(value) {
  if (value === null) return "";
  if (typeof value === "number") return String(value);
  const text = /^[=+\-@\t\r]/.test(value) ? `'${value}` : String(value);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

// Four digits, downwards or upwards, so that the number itself stays inside.
function round(value, way) {
  if (!value) return 0;
  const unit = 10 ** (Math.floor(Math.log10(Math.abs(value))) - 3);
  return Number(((way < 0 ? Math.floor(value / unit) : Math.ceil(value / unit)) * unit).toPrecision(6));
}

function unseen(text) {
  const found = document.createElement("span");
  found.className = "unseen";
  found.textContent = text;
  return found;
}

function compare(found, sign, value) {
  if (found === null) return false;
  const plain = (one) => (typeof found === "boolean" ? String(one).toLowerCase() : String(one));
  const same = () => plain(found) === plain(value) || (typeof value === "string" && value.split("|").some((one) => plain(one) === plain(found)));
  if (sign === "=" || sign === "==") return same();
  if (sign === "!=") return !same();
  if (typeof found !== "number" || typeof value !== "number") return false;
  return { "<": found < value, "<=": found <= value, ">": found > value, ">=": found >= value }[sign];
}
