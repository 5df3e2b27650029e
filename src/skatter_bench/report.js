// What the page can do beyond being read: it works, unsorted and unfiltered, without this script.
(() => {
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];

  // Sorting: a cell without a value (failed, not run) comes last, whichever way.
  const sortValue = (row, column) => row.cells[column].dataset.value ?? "";
  const compare = (a, b) => {
    const [x, y] = [Number(a), Number(b)];
    return Number.isNaN(x) || Number.isNaN(y) ? a.localeCompare(b, "en", { numeric: true }) : x - y;
  };
  const sortTable = (header) => {
    const before = header.getAttribute("aria-sort");
    const flipped = before === "ascending" ? "descending" : "ascending";
    const direction = before ? flipped : header.dataset.first;
    const sign = direction === "ascending" ? 1 : -1;
    const column = Number(header.dataset.column);
    const table = header.closest("table");
    const rows = all("tr", table.tBodies[0]).sort((a, b) => {
      const [x, y] = [sortValue(a, column), sortValue(b, column)];
      if (x === "" || y === "") return (x === "") - (y === "");
      return sign * compare(x, y);
    });
    table.tBodies[0].append(...rows);
    for (const other of all("th[aria-sort]", table)) other.removeAttribute("aria-sort");
    header.setAttribute("aria-sort", direction);
  };
  for (const button of all(".sort")) {
    button.addEventListener("click", () => sortTable(button.closest("th")));
  }

  // A part of the page with controls of its own: tabs of protocols, and which methods are shown.
  for (const part of all("[data-part]")) {
    const panels = all(".panel", part);
    const tabs = all("[role=tab]", part);
    const search = part.querySelector("input[type=search]");
    const sets = all("[data-set]", part);
    const count = part.querySelector(".count");
    const printed = part.querySelector("[data-printed]");

    const showMethods = () => {
      if (!search) return;
      const wanted = search.value.trim().toLowerCase();
      const paperOnly = sets.some((b) => b.dataset.set === "paper" && b.ariaPressed === "true");
      for (const row of all("tr[data-method]", part)) {
        const named = row.dataset.method.toLowerCase().includes(wanted);
        row.hidden = !named || (paperOnly && !("paper" in row.dataset));
      }
      const open = panels.find((panel) => !panel.hidden);
      const methods = all(".main tbody tr", open);
      const shown = methods.filter((row) => !row.hidden).length;
      count.textContent = `${shown} of ${methods.length} methods shown`;
    };
    const openTab = (tab) => {
      for (const other of tabs) {
        other.ariaSelected = String(other === tab);
        other.tabIndex = other === tab ? 0 : -1;
      }
      for (const panel of panels) panel.hidden = panel.id !== tab.getAttribute("aria-controls");
      const open = panels.find((panel) => !panel.hidden);
      if (printed) printed.hidden = !open.querySelector(".printed");
      showMethods();
    };
    tabs.forEach((tab, i) => {
      tab.addEventListener("click", () => openTab(tab));
      tab.addEventListener("keydown", (event) => {
        const ends = { Home: 0, End: tabs.length - 1 };
        const steps = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 };
        const to = ends[event.key] ?? (event.key in steps ? i + steps[event.key] : null);
        if (to === null) return;
        event.preventDefault();
        const next = tabs[(to + tabs.length) % tabs.length];
        next.focus();
        openTab(next);
      });
    });
    for (const button of sets) {
      button.addEventListener("click", () => {
        for (const other of sets) other.ariaPressed = String(other === button);
        showMethods();
      });
    }
    printed?.addEventListener("click", () => {
      const hidden = part.classList.toggle("without-printed");
      printed.ariaPressed = String(!hidden);
    });
    search?.addEventListener("input", showMethods);
    if (tabs.length) openTab(tabs[0]);
    else showMethods();
  }

  // Why something failed: on hover, on focus and on touch.
  const tip = document.getElementById("tip");
  const placeTip = (owner) => {
    const [at, box] = [owner.getBoundingClientRect(), tip.getBoundingClientRect()];
    const left = Math.min(Math.max(at.left, 8), innerWidth - box.width - 8);
    const below = at.bottom + 6;
    tip.style.left = `${left}px`;
    tip.style.top = `${below + box.height < innerHeight ? below : at.top - box.height - 6}px`;
  };
  const showTip = (event) => {
    const owner = event.target.closest?.("[data-reason]");
    if (!owner) return;
    tip.textContent = owner.dataset.reason;
    tip.hidden = false;
    owner.setAttribute("aria-describedby", "tip");
    placeTip(owner);
  };
  const hideTip = () => { tip.hidden = true; };
  for (const name of ["mouseover", "focusin"]) document.addEventListener(name, showTip);
  for (const name of ["mouseout", "focusout"]) document.addEventListener(name, hideTip);
  // A focused owner takes its reason along when the page scrolls; the mouse leaves it behind.
  const followOrHide = () => {
    const owner = document.activeElement.closest("[data-reason]");
    if (owner?.dataset.reason === tip.textContent) placeTip(owner);
    else hideTip();
  };
  document.addEventListener("scroll", followOrHide, { passive: true, capture: true });
  document.addEventListener("keydown", (event) => { if (event.key === "Escape") hideTip(); });
})();
