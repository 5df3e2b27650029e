// Chosen rows as a table, and as CSV on the clipboard.
(() => {
  const { data, all, choose, chosen, labelOf, make, said, whenChosen } = skatterReport;
  const LISTED = 200;
  const heads = ["row", "domain", "class", "seen in fit", "predicted", "confidence", ...data.features];
  const cellsOf = (row) => [
    data.rows.number[row],
    data.domains[data.rows.domain[row]],
    labelOf(data.classes, data.rows.class[row]),
    data.rows.class[row] < 0 ? "" : data.rows.seen[row] ? "yes" : "no",
    labelOf(data.classes, data.rows.predicted[row]),
    data.rows.confidence[row] ?? "",
    ...data.features.map((_, j) => data.rows.values[j][row]),
  ];
  // Without a column that says nothing of any row.
  const used = heads.map((_, j) => j === 0 || data.rows.number.some((_, row) => cellsOf(row)[j] !== ""));
  const kept = (cells) => cells.filter((_, j) => used[j]);

  // Numbers stand to the right, text to the left.
  const numeric = kept(heads.map((_, j) => j === 0 || data.rows.number.every((_, row) => typeof cellsOf(row)[j] !== "string")));
  const rowOf = (tag, cells, scope) => make("tr", {}, ...cells.map((cell, j) => {
    const element = make(j ? tag : "th", { textContent: String(cell) });
    if (element.tagName === "TH") element.scope = scope;
    if (j && (tag === "th" ? !numeric[j] : typeof cell === "string")) element.className = "text";
    return element;
  }));
  const show = () => {
    const rows = chosen();
    for (const part of all("[data-rows]")) {
      part.hidden = !rows.length;
      part.querySelector(".count").textContent = `${rows.length.toLocaleString("en")} row${rows.length === 1 ? "" : "s"} chosen`;
      part.querySelector("thead").replaceChildren(rowOf("th", kept(heads), "col"));
      const listed = rows.slice(0, LISTED).map((row) => rowOf("td", kept(cellsOf(row)), "row"));
      part.querySelector("tbody").replaceChildren(...listed);
      const more = part.querySelector(".more");
      more.hidden = rows.length <= LISTED;
      more.textContent = `The first ${LISTED} are listed; the copy holds all.`;
    }
  };
  whenChosen(show);

  // Text that a spreadsheet would take for a formula gets an apostrophe in front.
  const quoted = (cell) => {
    let text = String(cell);
    if (typeof cell === "string" && /^[=+\-@\t\r]/.test(text)) text = `'${text}`;
    return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  const csv = () => [heads, ...chosen().map(cellsOf)].map((cells) => kept(cells).map(quoted).join(",")).join("\n");
  const copyOld = (text) => {
    const field = make("textarea", { value: text });
    document.body.append(field);
    field.select();
    const done = document.execCommand("copy");
    field.remove();
    return done;
  };
  const copy = async (button) => {
    const text = `${csv()}\n`;
    const asked = navigator.clipboard?.writeText(text) ?? Promise.reject();
    const done = await asked.then(() => true, () => copyOld(text));
    const n = chosen().length;
    said.textContent = done ? `${n} row${n === 1 ? "" : "s"} copied as CSV.` : "The browser refused to copy.";
    button.textContent = done ? "Copied" : "Not copied";
    setTimeout(() => { button.textContent = "Copy as CSV"; }, 1500);
  };
  for (const button of all("[data-copy]")) button.addEventListener("click", () => copy(button));
  for (const button of all("[data-clear]")) button.addEventListener("click", () => choose([]));
})();
