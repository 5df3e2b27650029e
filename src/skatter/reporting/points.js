// Points on canvases: colours, hover, keyboard, lasso. The same row is singled out in every picture.
const skatterReport = (() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];
  const tip = document.getElementById("tip");
  const said = document.getElementById("said");
  const state = { way: 0, only: null, row: -1, chosen: new Set(), lasso: false };
  const plots = [];
  const listeners = [];

  const make = (tag, properties, ...children) => {
    const element = Object.assign(document.createElement(tag), properties);
    element.append(...children);
    return element;
  };

  // 16-bit integers, the lower byte first.
  const decode = (text) => {
    const bytes = atob(text);
    const numbers = new Int16Array(bytes.length / 2);
    for (let i = 0; i < numbers.length; i++) {
      numbers[i] = bytes.charCodeAt(2 * i) | (bytes.charCodeAt(2 * i + 1) << 8);
    }
    return numbers;
  };
  const unit = (text) => Float32Array.from(decode(text), (value) => value / 32767);

  // Colours as the page paints them now; paper is light whatever the screen is.
  const probe = make("span", { hidden: true });
  document.body.append(probe);
  const colours = { points: [], grey: "", ink: "", card: "", accent: "" };
  const readColours = (scheme = "") => {
    probe.style.colorScheme = scheme;
    const read = (name) => {
      probe.style.color = `var(--${name})`;
      return getComputedStyle(probe).color;
    };
    colours.points = Array.from({ length: 10 }, (_, i) => read(`c${i}`));
    for (const name of ["grey", "ink", "card", "accent"]) colours[name] = read(name);
  };

  const trace = (context, marker, x, y, r) => {
    context.beginPath();
    if (marker === 0) context.arc(x, y, r, 0, 2 * Math.PI);
    else if (marker === 2) context.rect(x - 0.9 * r, y - 0.9 * r, 1.8 * r, 1.8 * r);
    else if (marker === 1) {
      context.moveTo(x, y - 1.25 * r); context.lineTo(x + 1.1 * r, y + 0.75 * r);
      context.lineTo(x - 1.1 * r, y + 0.75 * r); context.closePath();
    } else {
      context.moveTo(x, y - 1.3 * r); context.lineTo(x + 1.3 * r, y);
      context.lineTo(x, y + 1.3 * r); context.lineTo(x - 1.3 * r, y); context.closePath();
    }
  };

  // Drawn in a mixed order, so that no group covers the others only because it comes last.
  const mixed = (n) => {
    const order = Uint32Array.from({ length: n }, (_, i) => i);
    let seed = 1;
    for (let i = n - 1; i > 0; i--) {
      seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
      const j = seed % (i + 1);
      [order[i], order[j]] = [order[j], order[i]];
    }
    return order;
  };

  const styleOf = (row) => {
    const way = data.colourings[state.way];
    const code = way.codes[row];
    const category = way.categories[code];
    if (!category) return { colour: colours.grey, marker: 0, code };
    return { colour: colours.points[category.colour], marker: category.marker, code };
  };

  const labelOf = (names, code) => (code < 0 ? "" : names[code]);
  const describe = (row) => {
    const rows = data.rows;
    const lines = [`Row ${rows.number[row]}`, `domain: ${data.domains[rows.domain[row]]}`];
    const known = labelOf(data.classes, rows.class[row]);
    const told = rows.seen[row] ? "" : " (hidden from the fit)";
    if (data.classes.length) lines.push(known ? `class: ${known}${told}` : "class: no label");
    const predicted = labelOf(data.classes, rows.predicted[row]);
    const sure = rows.confidence[row] === null ? "" : ` (confidence ${rows.confidence[row].toFixed(2)})`;
    if (predicted) lines.push(`predicted: ${predicted}${sure}`);
    data.features.forEach((name, j) => lines.push(`${name}: ${rows.values[j][row]}`));
    return lines;
  };

  class Plot {
    constructor(name, rows, points) {
      this.name = name;
      this.box = document.querySelector(`[data-plot="${name}"]`);
      this.canvas = this.box.querySelector("canvas");
      this.base = document.createElement("canvas");
      this.rows = rows;
      this.place = new Map(Array.from(rows, (row, i) => [row, i]));
      this.order = mixed(rows.length);
      this.path = null;
      this.moveTo(points);
      new ResizeObserver(() => this.resize()).observe(this.box);
      this.listen();
      plots.push(this);
    }

    // Coordinates of all rows, x and y in turn, inside the square from -1 to 1.
    moveTo(points) {
      this.points = points;
      this.x = new Float32Array(this.rows.length);
      this.y = new Float32Array(this.rows.length);
      this.resize();
    }

    resize(ratio = devicePixelRatio || 1) {
      [this.width, this.height] = [this.box.clientWidth, this.box.clientHeight];
      if (!this.width) return;
      for (const canvas of [this.canvas, this.base]) {
        const [w, h] = [Math.round(this.width * ratio), Math.round(this.height * ratio)];
        if (canvas.width !== w || canvas.height !== h) [canvas.width, canvas.height] = [w, h];
      }
      this.ratio = ratio;
      const size = Math.min(this.width, this.height) / 2 - 14;
      for (let i = 0; i < this.rows.length; i++) {
        this.x[i] = this.width / 2 + size * this.points[2 * i];
        this.y[i] = this.height / 2 - size * this.points[2 * i + 1];
      }
      this.drawPoints();
    }

    get radius() { return this.rows.length > 3000 ? 2.1 : this.rows.length > 800 ? 2.6 : 3.4; }

    drawPoints() {
      if (!this.width) return;
      const context = this.base.getContext("2d");
      context.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
      context.clearRect(0, 0, this.width, this.height);
      for (const i of this.order) {
        const style = styleOf(this.rows[i]);
        context.globalAlpha = state.only === null || state.only === style.code ? 0.78 : 0.07;
        context.fillStyle = style.colour;
        trace(context, style.marker, this.x[i], this.y[i], this.radius);
        context.fill();
      }
      this.draw();
    }

    // What changes often lies over the points: chosen rows, the row in focus, the lasso.
    draw() {
      if (!this.width) return;
      const context = this.canvas.getContext("2d");
      context.setTransform(1, 0, 0, 1, 0, 0);
      context.clearRect(0, 0, this.canvas.width, this.canvas.height);
      context.drawImage(this.base, 0, 0);
      context.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
      context.strokeStyle = colours.ink;
      for (const row of state.chosen) this.ring(context, row, 1.2, this.radius + 1.5);
      this.ring(context, state.row, 2.5, this.radius + 5);
      if (!this.path) return;
      context.strokeStyle = colours.accent;
      context.lineWidth = 1.5;
      context.beginPath();
      this.path.forEach(([x, y], i) => (i ? context.lineTo(x, y) : context.moveTo(x, y)));
      context.closePath();
      context.stroke();
      context.globalAlpha = 0.12;
      context.fillStyle = colours.accent;
      context.fill();
      context.globalAlpha = 1;
    }

    ring(context, row, width, radius) {
      const i = this.place.get(row);
      if (i === undefined) return;
      context.lineWidth = width;
      context.beginPath();
      context.arc(this.x[i], this.y[i], radius, 0, 2 * Math.PI);
      context.stroke();
    }

    nearest(x, y, within = 14) {
      let [best, found] = [within * within, -1];
      for (let i = 0; i < this.rows.length; i++) {
        const d = (this.x[i] - x) ** 2 + (this.y[i] - y) ** 2;
        if (d < best) [best, found] = [d, i];
      }
      return found < 0 ? -1 : this.rows[found];
    }

    // The nearest point in a direction, those straight ahead first.
    beyond(dx, dy) {
      const from = this.place.get(state.row);
      if (from === undefined) return this.nearest(this.width / 2, this.height / 2, Infinity);
      let [best, found] = [Infinity, from];
      for (let i = 0; i < this.rows.length; i++) {
        const [x, y] = [this.x[i] - this.x[from], this.y[i] - this.y[from]];
        const [along, across] = [x * dx + y * dy, Math.abs(x * dy - y * dx)];
        const cost = along > 0.5 && across <= 2 * along ? along + 2 * across : Infinity;
        if (cost < best) [best, found] = [cost, i];
      }
      return this.rows[found];
    }

    inside(path) {
      const held = [];
      for (let i = 0; i < this.rows.length; i++) {
        let odd = false;
        for (let a = 0, b = path.length - 1; a < path.length; b = a++) {
          const [[xa, ya], [xb, yb]] = [path[a], path[b]];
          const crosses = ya > this.y[i] !== yb > this.y[i];
          if (crosses && this.x[i] < ((xb - xa) * (this.y[i] - ya)) / (yb - ya) + xa) odd = !odd;
        }
        if (odd) held.push(this.rows[i]);
      }
      return held;
    }

    at(event) {
      const box = this.canvas.getBoundingClientRect();
      return [event.clientX - box.left, event.clientY - box.top];
    }

    listen() {
      const { box } = this;
      const leave = () => { if (!this.path) focusRow(this, -1); };
      box.addEventListener("pointermove", (event) => {
        if (!this.path) { focusRow(this, this.nearest(...this.at(event))); return; }
        this.path.push(this.at(event));
        this.draw();
      });
      box.addEventListener("pointerleave", leave);
      box.addEventListener("blur", leave);
      box.addEventListener("pointerdown", (event) => {
        if (event.button) return;
        this.path = [this.at(event)];
        if (event.pointerType !== "touch" || state.lasso) box.setPointerCapture(event.pointerId);
      });
      box.addEventListener("pointercancel", () => { this.path = null; this.draw(); });
      box.addEventListener("pointerup", (event) => {
        const path = this.path ?? [this.at(event)];
        this.path = null;
        const far = path.some(([x, y]) => Math.hypot(x - path[0][0], y - path[0][1]) > 6);
        const held = far ? this.inside(path) : [this.nearest(...path[0])].filter((row) => row >= 0);
        if (held.length || far) choose(held, event.shiftKey || event.ctrlKey || event.metaKey);
        this.draw();
      });
      box.addEventListener("keydown", (event) => this.press(event));
    }

    press(event) {
      const ways = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
      if (event.key in ways) focusRow(this, this.beyond(...ways[event.key]), true);
      else if ((event.key === "Enter" || event.key === " ") && state.row >= 0) choose([state.row], true);
      else if (event.key === "Escape") focusRow(this, -1);
      else return;
      event.preventDefault();
    }
  }

  // --- one row in focus, some rows chosen, the same in all pictures -----------------------------

  const focusRow = (plot, row, aloud = false) => {
    if (row === state.row && !aloud) return;
    state.row = row;
    for (const each of plots) each.draw();
    tip.hidden = row < 0;
    if (row < 0) return;
    const lines = describe(row);
    tip.textContent = lines.join("\n");
    if (aloud) said.textContent = lines.join("; ");
    const [i, box, own] = [plot.place.get(row), plot.canvas.getBoundingClientRect(), tip.getBoundingClientRect()];
    const [x, y] = [box.left + plot.x[i], box.top + plot.y[i]];
    tip.style.left = `${Math.min(Math.max(x + 14, 8), innerWidth - own.width - 8)}px`;
    tip.style.top = `${y + 14 + own.height < innerHeight ? y + 14 : Math.max(y - own.height - 14, 8)}px`;
  };

  // More rows join those that were chosen, or leave them; without more, they replace them.
  const choose = (rows, more = false) => {
    if (!more) state.chosen.clear();
    for (const row of rows) {
      if (more && rows.length === 1 && state.chosen.has(row)) state.chosen.delete(row);
      else state.chosen.add(row);
    }
    for (const plot of plots) plot.draw();
    for (const listener of listeners) listener();
    const n = state.chosen.size;
    said.textContent = `${n} row${n === 1 ? "" : "s"} chosen and listed below the picture.`;
  };

  // --- colours: which way, and one group alone --------------------------------------------------

  const redraw = () => { for (const plot of plots) plot.drawPoints(); };
  const swatch = (category) => {
    const canvas = make("canvas", { width: 28, height: 28, ariaHidden: "true" });
    const context = canvas.getContext("2d");
    context.fillStyle = category ? colours.points[category.colour] : colours.grey;
    trace(context, category ? category.marker : 0, 14, 14, 9);
    context.fill();
    return canvas;
  };
  const showLegend = () => {
    const way = data.colourings[state.way];
    for (const legend of all("[data-legend]")) {
      const entries = way.categories.map((category, code) => ({ category, code, name: category.name, n: category.n }));
      const grey = way.codes.filter((code) => code < 0).length;
      if (grey) entries.push({ category: null, code: -1, name: way.grey, n: grey });
      legend.replaceChildren(...entries.map(({ category, code, name, n }) => {
        const word = make("span", { textContent: name });
        const count = make("span", { className: "quiet", textContent: n.toLocaleString("en") });
        const pressed = { type: "button", ariaPressed: String(state.only === code) };
        const button = make("button", pressed, swatch(category), word, count);
        button.addEventListener("click", () => {
          state.only = state.only === code ? null : code;
          const place = [...legend.children].indexOf(button);
          for (const other of all("[data-legend] button")) {
            const same = [...other.parentElement.children].indexOf(other) === place;
            other.ariaPressed = String(same && state.only === code);
          }
          redraw();
        });
        return button;
      }));
    }
  };
  const switchWay = (key) => {
    state.way = data.colourings.findIndex((way) => way.key === key);
    state.only = null;
    for (const button of all("[data-colour]")) button.ariaPressed = String(button.dataset.colour === key);
    showLegend();
    redraw();
  };
  for (const button of all("[data-colour]")) {
    button.addEventListener("click", () => switchWay(button.dataset.colour));
  }
  for (const button of all("[data-lasso]")) {
    button.addEventListener("click", () => {
      state.lasso = !state.lasso;
      document.documentElement.classList.toggle("lasso", state.lasso);
      for (const other of all("[data-lasso]")) other.ariaPressed = String(state.lasso);
    });
  }
  const repaint = (scheme = "", ratio = devicePixelRatio || 1) => {
    readColours(scheme);
    showLegend();
    for (const plot of plots) plot.resize(ratio);
  };
  document.documentElement.addEventListener("themechange", () => repaint());
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => repaint());
  addEventListener("beforeprint", () => repaint("light", 3));
  addEventListener("afterprint", () => repaint());

  readColours();
  const every = Uint32Array.from(data.rows.number, (_, i) => i);
  for (const name of ["before", "after"]) if (data[name]) new Plot(name, every, unit(data[name]));
  showLegend();

  return Object.freeze({
    data, Plot, all, choose, decode, describe, labelOf, make, said, unit,
    chosen: () => [...state.chosen].sort((a, b) => a - b),
    whenChosen: (listener) => listeners.push(listener),
    // Where points are now, in pixels of their picture.
    positions: (name) => {
      const plot = plots.find((each) => each.name === name);
      return Array.from(plot.rows, (row, i) => [row, plot.x[i], plot.y[i]]);
    },
  });
})();
