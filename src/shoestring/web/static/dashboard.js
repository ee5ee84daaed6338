// Live pages: the server says when the log has grown, and what shows it is loaded again. Texts are set as text only.

const ROW = 27; // pixels of a row of the table
const EXTRA = 20; // rows that are drawn above and below what is seen

const at = (id) => document.getElementById(id);

async function html(place) {
  const answer = await fetch(place.dataset.source);
  return answer.ok ? answer.text() : null; // rendered and escaped by the server
}

async function updateHead(live) {
  const picked = [...live.querySelectorAll(".pick:checked")].map((box) => box.value);
  const content = await html(live);
  if (content !== null) live.innerHTML = content;
  for (const box of live.querySelectorAll(".pick")) box.checked = picked.includes(box.value);
}

const { narrow: NARROW, wide: WIDE, media: MEDIA } = document.body.dataset; // the server draws these widths

function pictureUrl(source, narrow, version) {
  const width = narrow ? NARROW : WIDE;
  return `${source}${source.includes("?") ? "&" : "?"}width=${width}&v=${encodeURIComponent(version)}`;
}

// Loads a picture before it takes the place of the one that is shown, so that the page does not flicker.
function updatePicture(picture, version) {
  const source = picture.dataset.source;
  const next = new Image();
  next.src = pictureUrl(source, matchMedia(MEDIA).matches, version);
  const show = () => {
    picture.querySelector("source").srcset = pictureUrl(source, true, version);
    picture.querySelector("img").src = pictureUrl(source, false, version);
  };
  return next.decode().then(show, () => {});
}

// What takes a moment is loaded when it is opened, and again if it is opened later.
async function openBox(box) {
  if (!box.open || box.dataset.shown === shown) return;
  box.dataset.shown = shown;
  if (box.className === "part") {
    const content = await html(box);
    if (content === null) return;
    const place = document.createElement("div");
    place.innerHTML = content;
    box.replaceChildren(box.querySelector("summary"), place);
    return;
  }
  let image = box.querySelector("img");
  if (!image) {
    image = document.createElement("img");
    image.alt = box.querySelector("summary").textContent;
    box.append(image);
  }
  image.src = pictureUrl(box.dataset.source, matchMedia(MEDIA).matches, shown);
}

for (const box of document.querySelectorAll("details.plot, details.part")) {
  box.addEventListener("toggle", () => openBox(box));
  const source = box.dataset.source;
  box.querySelector("select.moment")?.addEventListener("change", (event) => {
    box.dataset.source = `${source}?at=${event.target.value}`;
    box.dataset.shown = "";
    openBox(box);
  });
}

let shown = document.body.dataset.version; // what the page shows; the log may have grown since it was rendered
let wanted = shown;
let busy = false;

// One update at a time, and a pause after it that is longer for a study that takes longer to show.
async function refresh() {
  if (busy || wanted === shown) return;
  busy = true;
  const began = performance.now();
  const version = wanted;
  const work = [...document.querySelectorAll("picture.live")].map((one) => updatePicture(one, version));
  if (at("live")) work.push(updateHead(at("live")));
  if (table) work.push(table.load());
  await Promise.allSettled(work);
  shown = version;
  await Promise.allSettled([...document.querySelectorAll("details.part[open]")].map(openBox));
  setTimeout(() => {
    busy = false;
    refresh();
  }, 3 * (performance.now() - began));
}

// A browser allows few connections to a server, so a tab that is not seen has none.
let stream = null;

function follow() {
  if (document.hidden && stream) {
    stream.close();
    stream = null;
  } else if (!document.hidden && !stream) {
    stream = new EventSource(document.body.dataset.stream);
    stream.onopen = () => { at("offline").textContent = ""; };
    stream.onerror = () => { at("offline").textContent = "not live: the dashboard does not answer"; };
    stream.onmessage = (event) => {
      wanted = event.data;
      refresh();
    };
  }
}

class Trials {
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
  }

  async load() {
    const answer = await fetch(`${this.place.dataset.source}?since=${this.position}`);
    if (!answer.ok) return;
    const { position, columns, rows } = await answer.json();
    if (position < this.position) location.reload(); // another study of this name
    if (!this.body) this.build(columns);
    this.position = position;
    for (const cells of rows) this.rows[cells[0]] = { cells, words: cells.join(" ").toLowerCase() };
    this.select();
  }

  build(columns) {
    this.columns = columns;
    const table = document.createElement("table");
    const head = table.createTHead().insertRow();
    head.append(document.createElement("th"));
    columns.forEach((name, index) => {
      const cell = document.createElement("th");
      cell.textContent = name;
      cell.dataset.column = name;
      cell.addEventListener("click", () => this.sort(index));
      head.append(cell);
    });
    this.body = table.createTBody();
    this.place.replaceChildren(table);
  }

  sort(index) {
    const up = !(this.order && this.order.index === index && this.order.up);
    this.order = { index, up };
    this.place.querySelectorAll("th[data-column]").forEach((cell, other) => {
      cell.ariaSort = other === index ? (up ? "ascending" : "descending") : null;
    });
    this.select();
  }

  // Words must all occur; "column<value" compares.
  tests() {
    const parts = at("search").value.split(/\s+and\s+|,/).map((part) => part.trim()).filter(Boolean);
    this.unknown = "";
    return parts.map((part) => {
      const match = part.match(/^([^<>=!]+?)\s*(<=|>=|!=|==|=|<|>)\s*["']?(.+?)["']?$/);
      const index = match ? this.columns.indexOf(match[1]) : -1;
      if (index < 0) {
        if (match) this.unknown = `; there is no column ${match[1]}`;
        const words = part.toLowerCase().split(/\s+/);
        return (row) => words.every((word) => row.words.includes(word));
      }
      const [, , sign, value] = match;
      const number = Number(value);
      return (row) => compare(row.cells[index], sign, Number.isNaN(number) ? value : number);
    });
  }

  select() {
    const tests = this.tests();
    this.shown = this.rows.filter((row) => tests.every((test) => test(row)));
    if (this.order) {
      const { index, up } = this.order;
      const way = up ? 1 : -1;
      this.shown.sort((a, b) => {
        const [x, y] = [a.cells[index], b.cells[index]];
        if (x === null || y === null) return (x === null) - (y === null);
        return (x < y ? -1 : x > y ? 1 : a.cells[0] - b.cells[0]) * way;
      });
    }
    at("count").textContent = `${this.shown.length} of ${this.rows.length} trials${this.unknown}`;
    this.draw();
  }

  draw() {
    const first = Math.max(0, Math.floor(this.place.scrollTop / ROW) - EXTRA);
    const count = Math.ceil(innerHeight / ROW) + 2 * EXTRA;
    const visible = this.shown.slice(first, first + count);
    const below = this.shown.length - first - visible.length;
    this.body.replaceChildren(this.gap(first), ...visible.map((row) => this.line(row)), this.gap(below));
  }

  gap(rows) {
    const line = document.createElement("tr");
    line.className = "gap";
    const cell = line.insertCell();
    cell.colSpan = this.columns.length + 1;
    cell.style.height = `${rows * ROW}px`;
    line.hidden = rows <= 0;
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
      if (index === 0) {
        const link = document.createElement("a");
        link.href = `${this.place.dataset.trial}/${value}`;
        link.textContent = value;
        cell.append(link);
      } else {
        cell.textContent = value === null ? "" : typeof value === "number" ? Number(value.toPrecision(4)) : value;
        cell.title = value === null ? "" : value;
      }
    });
    return line;
  }
}

function compare(found, sign, value) {
  if (found === null) return false;
  const same = typeof found === "boolean" ? String(found) === String(value).toLowerCase() : String(found) === String(value);
  if (sign === "=" || sign === "==") return same;
  if (sign === "!=") return !same;
  if (typeof found !== "number" || typeof value !== "number") return false;
  return { "<": found < value, "<=": found <= value, ">": found > value, ">=": found >= value }[sign];
}

const table = at("trials") ? new Trials(at("trials")) : null;
if (table) table.load();

const button = at("compare");
if (button) {
  const marked = () => (table ? [...table.picked] : [...document.querySelectorAll(".pick:checked")].map((box) => box.value));
  const allow = () => {
    button.disabled = marked().length < 2;
    button.title = button.disabled ? "mark two or more" : "";
  };
  allow();
  document.addEventListener("change", allow);
  button.addEventListener("click", () => {
    const picked = marked();
    const name = button.dataset.name;
    location.href = `${button.dataset.target}?${picked.map((one) => `${name}=${encodeURIComponent(one)}`).join("&")}`;
  });
}

if (document.body.dataset.stream) {
  follow();
  document.addEventListener("visibilitychange", follow);
}
