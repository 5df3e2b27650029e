// The path explorer: every β, δ and k is in the page, and points glide from one to the next.
(() => {
  const { data, all, decode, make, unit, Plot } = skatterReport;
  const path = data.explorer;
  if (!path) return;
  const [beta, delta, k] = ["beta", "delta", "k"].map((id) => document.getElementById(id));
  const n = path.rows.length;
  const values = decode(path.values);
  const still = matchMedia("(prefers-reduced-motion: reduce)");
  const GLIDE = 420;

  // --- from components to a picture ---------------------------------------------------------------

  // The leading eigenvector of a symmetric matrix: squared again and again, it keeps nothing else.
  const leading = (matrix) => {
    let power = matrix;
    for (let i = 0; i < 40; i++) {
      const trace = power.reduce((sum, row, j) => sum + row[j], 0) || 1;
      power = power.map((row) => power.map((other) => row.reduce((sum, value, j) => sum + (value / trace) * (other[j] / trace), 0)));
    }
    const longest = power.reduce((best, row, j) => (row[j] > power[best][best] ? j : best), 0);
    const size = Math.hypot(...power[longest]);
    return size ? power[longest].map((value) => value / size) : power[0].map((_, j) => Number(j === 0));
  };

  const component = (setting, c) => {
    const start = (setting * path.k + c) * n;
    const out = new Float64Array(n);
    let mean = 0;
    for (let i = 0; i < n; i++) mean += values[start + i] / n;
    for (let i = 0; i < n; i++) out[i] = (values[start + i] - mean) * path.steps[setting][c];
    return out;
  };

  const project = (setting, count) => {
    const Z = Array.from({ length: count }, (_, c) => component(setting, c));
    const dot = (a, b) => a.reduce((sum, value, i) => sum + value * b[i], 0);
    const spread = Z.map((a) => Z.map((b) => dot(a, b) / n));
    const first = leading(spread);
    const held = dot(first, spread.map((row) => dot(row, first)));
    const rest = leading(spread.map((row, i) => row.map((value, j) => value - held * first[i] * first[j])));
    const along = dot(rest, first); // not zero where the rest is rounding alone
    const second = rest.map((value, c) => value - along * first[c]);
    const points = new Float64Array(2 * n);
    for (let i = 0; i < n; i++) {
      for (let c = 0; c < count; c++) {
        points[2 * i] += Z[c][i] * first[c];
        if (count > 1) points[2 * i + 1] += Z[c][i] * second[c];
      }
    }
    if (count === 1) spreadOut(points);
    return points;
  };

  // One component has no second axis: heights without a meaning let points be seen.
  const spreadOut = (points) => {
    const size = points.reduce((most, value) => Math.max(most, Math.abs(value)), 0) || 1;
    for (let i = 0; i < n; i++) points[2 * i + 1] = (((i * 0.6180339887498949) % 1) - 0.5) * 0.6 * size;
  };

  // Move and scale a picture so that its longer side runs from -1 to 1.
  const fill = (points) => {
    const [low, high] = [[Infinity, Infinity], [-Infinity, -Infinity]];
    points.forEach((value, i) => {
      [low[i % 2], high[i % 2]] = [Math.min(low[i % 2], value), Math.max(high[i % 2], value)];
    });
    const size = Math.max(high[0] - low[0], high[1] - low[1]) / 2 || 1;
    return Float32Array.from(points, (value, i) => (value - (low[i % 2] + high[i % 2]) / 2) / size);
  };

  // Turn or mirror a picture so that it lies on another one as well as it can.
  const align = (points, other) => {
    let [xx, xy, yx, yy] = [0, 0, 0, 0];
    for (let i = 0; i < n; i++) {
      const [x, y, u, v] = [points[2 * i], points[2 * i + 1], other[2 * i], other[2 * i + 1]];
      xx += x * u; xy += x * v; yx += y * u; yy += y * v;
    }
    const mirror = Math.hypot(xx - yy, xy + yx) > Math.hypot(xx + yy, xy - yx) ? -1 : 1;
    const angle = Math.atan2(xy - mirror * yx, xx + mirror * yy);
    const [c, s] = [Math.cos(angle), Math.sin(angle)];
    const turned = new Float64Array(2 * n);
    for (let i = 0; i < n; i++) {
      const [x, y] = [points[2 * i], mirror * points[2 * i + 1]];
      [turned[2 * i], turned[2 * i + 1]] = [c * x - s * y, s * x + c * y];
    }
    return fill(turned);
  };

  // --- where the sliders are, and what was measured there -------------------------------------------

  const place = () => ({ setting: beta.valueAsNumber * path.deltas.length + delta.valueAsNumber, count: k.valueAsNumber });
  const fitted = { setting: path.start[0] * path.deltas.length + path.start[1], count: path.start[2] };
  const percent = (value) => `${(100 * value).toFixed(1)}\u202f%`;
  const write = (key, value) => {
    if (value === null) return "";
    if (key === "criterion") return value.toFixed(3);
    return key === "total" ? value.toPrecision(4) : percent(value);
  };
  const rangeOf = (values) => {
    const known = values.filter((value) => value !== null);
    return [Math.min(...known), Math.max(...known)];
  };
  const lines = all("[data-figure]").map((row) => {
    const key = row.dataset.figure;
    const top = key === "criterion" || key === "total" ? rangeOf(path.figures[key].flat())[1] : 1;
    return { key, top, here: row.querySelector("[data-here]"), fitted: row.querySelector("[data-fitted]"), bar: row.querySelector(".bar-after") };
  });
  const figure = (key, at) => path.figures[key][at.setting][at.count - 1];

  const showFigures = () => {
    const at = place();
    for (const line of lines) {
      const value = figure(line.key, at);
      line.here.textContent = write(line.key, value);
      line.fitted.textContent = write(line.key, figure(line.key, fitted));
      line.bar.setAttribute("width", Math.max(0, Math.min(100, (100 * value) / (line.top || 1))).toFixed(2));
    }
  };
  const sayPlace = () => {
    const names = [[beta, "β", path.betas], [delta, "δ", path.deltas]];
    for (const [slider, sign, list] of names) {
      const value = String(list[slider.valueAsNumber]);
      slider.setAttribute("aria-valuetext", `${sign} = ${value}`);
      slider.nextElementSibling.textContent = value;
    }
    const { setting, count } = place();
    k.setAttribute("aria-valuetext", `${count} component${count === 1 ? "" : "s"}`);
    k.nextElementSibling.textContent = String(count);
    const rank = path.ranks[setting];
    const few = count > rank ? `; there are ${rank} components here, so k = ${rank} shows all` : "";
    const back = setting === fitted.setting && count === fitted.count;
    const same = back && path.exact ? ", as fitted" : "";
    const words = `β = ${path.betas[beta.valueAsNumber]}, δ = ${path.deltas[delta.valueAsNumber]}, k = ${count}${same}${few}`;
    document.querySelector("[data-setting]").textContent = words;
    return words;
  };

  // Said once the sliders rest, for readers who hear the page.
  let talk = 0;
  const said = document.querySelector("[data-said]");
  const speak = (words) => {
    clearTimeout(talk);
    talk = setTimeout(() => {
      const [first] = lines;
      said.textContent = `${words}. ${lines.length ? `${first.here.closest("tr").cells[0].textContent}: ${first.here.textContent}.` : ""}`;
    }, 400);
  };

  // --- the picture -----------------------------------------------------------------------------------

  const rows = Uint32Array.from(path.rows);
  const reference = () => {
    if (!data.after) return project(fitted.setting, fitted.count);
    const after = unit(data.after);
    const own = new Float64Array(2 * n);
    for (let i = 0; i < n; i++) [own[2 * i], own[2 * i + 1]] = [after[2 * rows[i]], after[2 * rows[i] + 1]];
    return own;
  };
  let goal = align(project(fitted.setting, fitted.count), reference());
  const plot = new Plot("path", rows, goal);
  let frame = 0;
  const glide = (to) => {
    cancelAnimationFrame(frame);
    const from = plot.points;
    if (still.matches) { plot.moveTo(to); return; }
    const start = performance.now();
    const step = (now) => {
      const t = Math.min((now - start) / GLIDE, 1);
      const eased = 1 - (1 - t) ** 3;
      plot.moveTo(Float32Array.from(to, (value, i) => from[i] + eased * (value - from[i])));
      if (t < 1) frame = requestAnimationFrame(step);
    };
    frame = requestAnimationFrame(step);
  };

  // --- all settings at once --------------------------------------------------------------------------

  const map = document.querySelector(".map");
  const choice = document.querySelector("[data-map]");
  const showMap = () => {
    if (!map.open) return;
    const key = choice.value;
    const [low, high] = rangeOf(path.figures[key].map((values) => values[k.valueAsNumber - 1]));
    const heads = ["β \\ δ", ...path.deltas].map((words) => make("th", { scope: "col", textContent: words }));
    map.querySelector("thead").replaceChildren(make("tr", {}, ...heads));
    map.querySelector("tbody").replaceChildren(...path.betas.map((value, b) => {
      const cells = path.deltas.map((weight, d) => {
        const own = figure(key, { setting: b * path.deltas.length + d, count: k.valueAsNumber });
        const words = write(key, own);
        const button = make("button", { type: "button", textContent: words, ariaLabel: `β ${value}, δ ${weight}: ${words}; go there` });
        if (b === beta.valueAsNumber && d === delta.valueAsNumber) button.ariaCurrent = "true";
        button.addEventListener("click", () => { [beta.value, delta.value] = [b, d]; move(); });
        return make("td", { className: `heat-${Math.round((10 * (own - low)) / (high - low || 1))}` }, button);
      });
      return make("tr", {}, make("th", { scope: "row", textContent: value }), ...cells);
    }));
  };
  map.addEventListener("toggle", showMap);
  choice.addEventListener("change", showMap);

  const move = () => {
    const { setting, count } = place();
    goal = align(project(setting, Math.min(count, path.ranks[setting])), goal);
    glide(goal);
    showFigures();
    showMap();
    speak(sayPlace());
  };
  for (const slider of [beta, delta, k]) slider.addEventListener("input", move);
  document.querySelector("[data-reset]").addEventListener("click", () => {
    [beta.value, delta.value, k.value] = path.start;
    move();
  });
  [beta.value, delta.value, k.value] = path.start; // a reload may have kept other ones
  showFigures();
  sayPlace();
})();
