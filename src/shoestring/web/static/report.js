// The charts of a report, drawn by the plotly.js that is in the file. Without it the pictures stay.
const configs = JSON.parse(document.getElementById("configs").textContent);
const dark = matchMedia("(prefers-color-scheme: dark)").matches ? JSON.parse(document.getElementById("dark").textContent) : {};

function draw(section) {
  const text = section.querySelector("script").textContent.replace(/#[0-9a-f]{6}/g, (color) => dark[color] ?? color);
  const { data, layout } = JSON.parse(text);
  if (!data.length) return;
  for (const trace of data) {
    if (!trace.customdata) continue;
    trace.hovertext = trace.customdata.map((trial) => configs[trial]);
    trace.hovertemplate = "%{hovertext}<br>%{x}, %{y}<extra></extra>";
  }
  delete layout.title;
  delete layout.width;
  layout.margin.t = 30;
  layout.paper_bgcolor = layout.plot_bgcolor = "rgba(0,0,0,0)";
  const place = document.createElement("div");
  section.querySelector("svg").replaceWith(place);
  Plotly.newPlot(place, data, layout, { displayModeBar: false, responsive: true });
}

const seen = new IntersectionObserver((entries) => {
  for (const { target, isIntersecting } of entries) {
    if (!isIntersecting) continue;
    seen.unobserve(target);
    draw(target);
  }
}, { rootMargin: "300px" });
for (const section of document.querySelectorAll("section.plot")) seen.observe(section);
