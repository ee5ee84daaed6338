// The list of studies: filtered and sorted, and again after every update. Texts are set as text only.

const at = (id) => document.getElementById(id);
let order = null;

const sortable = (row, column) => {
  const cell = row.cells[column];
  return cell.dataset.sort === undefined ? cell.textContent.trim().toLowerCase() : Number(cell.dataset.sort);
};

export function arrange() {
  const table = at("studies");
  if (!table) return;
  for (const head of table.querySelectorAll("th[data-column]")) {
    const column = Number(head.dataset.column);
    head.querySelector("button").onclick = () => {
      order = { column, up: !(order && order.column === column && order.up) };
      arrange();
    };
    head.ariaSort = order?.column === column ? (order.up ? "ascending" : "descending") : null;
  }
  const body = table.tBodies[0];
  const rows = [...body.rows];
  if (order) {
    const way = order.up ? 1 : -1;
    rows.sort((a, b) => {
      const [x, y] = [sortable(a, order.column), sortable(b, order.column)];
      if (typeof x !== typeof y) return typeof x === "number" ? -1 : 1;
      return (x < y ? -1 : x > y ? 1 : 0) * way;
    });
    body.append(...rows);
  }
  const words = at("filter").value.toLowerCase().split(/\s+/).filter(Boolean);
  const archived = at("archived").checked;
  for (const row of rows) {
    const text = row.textContent.toLowerCase();
    row.hidden = !words.every((word) => text.includes(word)) || ("archived" in row.dataset && !archived);
  }
  const count = rows.filter((row) => !row.hidden).length;
  at("shown").textContent = `${count} of ${rows.length} studies`;
}

if (at("filter")) {
  at("filter").addEventListener("input", arrange);
  at("archived").addEventListener("change", arrange);
  arrange();
}
