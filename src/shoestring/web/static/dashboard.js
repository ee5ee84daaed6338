// Live pages: the server says when the log has grown, and what shows it is loaded again. Texts are set as text only.

import { Chart, redraw, watch } from "/static/charts.js";
import { arrange } from "/static/list.js";
import { Trials } from "/static/trials.js";

const at = (id) => document.getElementById(id);

async function html(place) {
  const answer = await fetch(place.dataset.source);
  return answer.ok ? answer.text() : null; // rendered and escaped by the server
}

async function updateHead(live) {
  const picked = [...live.querySelectorAll(".pick:checked")].map((box) => box.value);
  const content = await html(live);
  if (content !== null && !live.contains(document.activeElement?.closest("form"))) live.innerHTML = content;
  for (const box of live.querySelectorAll(".pick")) box.checked = picked.includes(box.value);
  arrange();
}

const table = at("trials") ? new Trials(at("trials")) : null;
if (table) table.load();
const charts = [...document.querySelectorAll("figure.chart")].map((figure) => new Chart(figure, table));
watch(charts);

// Tables that are loaded when they are scrolled to.
async function fill(part) {
  const content = await html(part);
  if (content !== null) part.innerHTML = content;
}

const parts = new IntersectionObserver((entries) => {
  for (const { target, isIntersecting } of entries) {
    if (isIntersecting && target.dataset.shown !== shown) {
      target.dataset.shown = shown;
      fill(target);
    }
  }
}, { rootMargin: "300px" });

let shown = document.body.dataset.version; // what the page shows; the log may have grown since it was rendered
let wanted = shown;
let busy = false;
for (const part of document.querySelectorAll(".part")) parts.observe(part);

// One update at a time, and a pause after it that is longer for a study that takes longer to show.
async function refresh() {
  if (busy || wanted === shown) return;
  busy = true;
  const began = performance.now();
  const version = wanted;
  const work = charts.map((chart) => chart.update(version));
  if (at("live")) work.push(updateHead(at("live")));
  if (table) work.push(table.load());
  work.push(...[...document.querySelectorAll(".part[data-shown]")].map(fill));
  await Promise.allSettled(work);
  shown = version;
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

const button = at("compare");
if (button) {
  const most = Number(button.dataset.most);
  const marked = () => (table ? [...table.picked] : [...document.querySelectorAll(".pick:checked")].map((box) => box.value));
  const allow = () => {
    button.disabled = marked().length < 2 || marked().length > most;
    button.title = button.disabled ? `mark 2 to ${most}` : "";
  };
  allow();
  document.addEventListener("change", allow);
  button.addEventListener("click", () => {
    const name = button.dataset.name;
    location.href = `${button.dataset.target}?${marked().map((one) => `${name}=${encodeURIComponent(one)}`).join("&")}`;
  });
}

// Copying works without a secure connection too, where the clipboard of the browser is not there.
async function copy(text) {
  if (navigator.clipboard) return navigator.clipboard.writeText(text);
  const field = document.createElement("textarea");
  field.value = text;
  document.body.append(field);
  field.select();
  document.execCommand("copy");
  field.remove();
}

document.addEventListener("click", async ({ target }) => {
  const clicked = target.closest?.("button.copy");
  if (!clicked) return;
  await copy(clicked.dataset.copy);
  const said = clicked.parentElement.querySelector("[role=status]");
  if (said) said.textContent = "copied";
  clicked.dataset.copied = "";
  setTimeout(() => {
    if (said) said.textContent = "";
    delete clicked.dataset.copied;
  }, 2000);
});

// The theme: that of the system, dark or light. The server reads the cookie when it draws pictures.
const THEMES = ["", "dark", "light"];
const theme = at("theme");

function nameTheme() {
  theme.textContent = `theme: ${document.documentElement.dataset.theme || "system"}`;
}

theme.hidden = false;
nameTheme();
theme.addEventListener("click", () => {
  const next = THEMES[(THEMES.indexOf(document.documentElement.dataset.theme ?? "") + 1) % THEMES.length];
  document.cookie = `shoestring-theme=${next}; path=/; samesite=strict; max-age=${next ? 31536000 : 0}`;
  if (next) document.documentElement.dataset.theme = next;
  else delete document.documentElement.dataset.theme;
  nameTheme();
  redraw(charts);
});

if (document.body.dataset.stream) {
  follow();
  document.addEventListener("visibilitychange", follow);
}
