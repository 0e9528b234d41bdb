/* Draws the summary of a stream above its list, from the API, with the list's filters.
   A bar, a point and a row of the table lead to the events behind them. */
"use strict";
(function () {
  const panel = document.getElementById("stream-charts");
  if (!panel) return;
  const palettes = {
    light: [
      "#3366cc", "#dc3912", "#e68a00", "#109618", "#990099",
      "#0099c6", "#dd4477", "#66aa00", "#b82e2e", "#316395",
    ],
    dark: [
      "#6f9bff", "#ff7a59", "#ffb347", "#4fc95c", "#d67be0",
      "#4cc9f0", "#ff85ab", "#a5d94c", "#f08080", "#8fb8de",
    ],
  };
  const darkScheme = window.matchMedia("(prefers-color-scheme: dark)");
  const filters = JSON.parse(panel.dataset.filters);
  const status = panel.querySelector("[role=status]");
  const charts = {};

  function chosen(name) {
    return panel.querySelector(`[name=${name}]`).value;
  }

  /* The address of the list with further filters; "" where a group has no filter. */
  function behind(group, dates) {
    const name = chosen("group_by");
    const value = group.key[name];
    if (!filters[name] || !value) return "";
    const query = new URLSearchParams(window.location.search);
    query.delete("cursor");
    query.set(filters[name], value);
    for (const [key, moment] of Object.entries(dates || {})) query.set(key, moment);
    return `?${query}`;
  }

  function open(address) {
    if (address) window.location.assign(address);
  }

  function pointer(event, hits) {
    event.native.target.classList.toggle("leads", hits.length > 0);
  }

  function label(group) {
    return group.name || Object.values(group.key).join(" / ") || "(none)";
  }

  /* The admin site's theme: its button sets data-theme, "auto" follows the system. */
  function theme() {
    const root = document.documentElement;
    const set = root.dataset.theme;
    const dark = set === "dark" || (set !== "light" && darkScheme.matches);
    const style = getComputedStyle(root);
    const variable = (name) => style.getPropertyValue(name).trim();
    return {
      colours: palettes[dark ? "dark" : "light"],
      text: variable("--body-fg"),
      line: variable("--border-color"),
    };
  }

  const units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];

  /* A number as people read it; bytes with a unit, as the lists below write them. */
  function amount(value, metric) {
    if (metric !== "bytes") return value.toLocaleString("en");
    let rank = 0;
    while (value >= 1024 && rank < units.length - 1) {
      value /= 1024;
      rank += 1;
    }
    return `${Number(value.toFixed(rank && 1)).toLocaleString("en")} ${units[rank]}`;
  }

  /* The step between an axis' lines: bytes in powers of two, whole numbers otherwise. */
  function step(greatest, metric) {
    if (metric !== "bytes") return undefined;
    const wanted = Math.max(greatest / 5, 1);
    return 2 ** Math.ceil(Math.log2(wanted));
  }

  /* The length of what two texts begin with alike. */
  function alike(one, other) {
    let length = 0;
    while (length < one.length && one[length] === other[length]) length += 1;
    return length;
  }

  /* A bar's label, shortened to its room where it is like another, not where they differ. */
  function shortened(index) {
    const { ctx, options } = this;
    const room = this.maxWidth - options.ticks.padding - options.grid.tickLength;
    ctx.font = Chart.helpers.toFont(options.ticks.font).string;
    const wide = (text) => ctx.measureText(text).width;
    const cut = (text, most) => {
      if (wide(text) <= most) return text;
      let length = Math.floor(most);
      while (length > 0 && wide(`${text.slice(0, length)}…`) > most) length -= 1;
      return `${text.slice(0, length)}…`;
    };
    const labels = this.getLabels();
    const text = labels[index];
    const others = labels.filter((_, n) => n !== index);
    const same = Math.max(0, ...others.map((other) => alike(text, other)));
    const start = cut(text, room);
    if (start === text || same < start.length - 1) return start;
    const end = cut(text.slice(same), room / 2);
    return cut(text.slice(0, same), room - wide(end)) + end;
  }

  function axes(summary, shown, valueAxis, greatest) {
    const axis = { ticks: { color: shown.text }, grid: { color: shown.line } };
    const values = {
      beginAtZero: true,
      grid: axis.grid,
      ticks: {
        color: shown.text,
        precision: 0,
        maxRotation: 0,
        stepSize: step(greatest, summary.metric),
        callback: (value) => amount(value, summary.metric),
      },
    };
    if (valueAxis === "y") return { x: axis, y: values };
    axis.ticks.callback = shortened;
    return { x: values, y: axis };
  }

  function tooltip(summary, valueAxis) {
    return {
      callbacks: {
        label: (item) =>
          `${item.dataset.label}: ${amount(item.parsed[valueAxis], summary.metric)}`,
      },
    };
  }

  function draw(id, config) {
    if (charts[id]) charts[id].destroy();
    config.options = Object.assign(
      { animation: false, maintainAspectRatio: false }, config.options
    );
    charts[id] = new Chart(document.getElementById(id), config);
  }

  function drawTop(summary, shown) {
    const values = summary.groups.map((group) => group.value);
    draw("chart-top", {
      type: "bar",
      data: {
        labels: summary.groups.map(label),
        datasets: [{
          label: summary.metric,
          data: values,
          maxBarThickness: 26,
          backgroundColor: values.map((_, n) => shown.colours[n % shown.colours.length]),
        }],
      },
      options: {
        indexAxis: "y",
        onClick: (_, hits) => hits.length && open(behind(summary.groups[hits[0].index])),
        onHover: pointer,
        scales: axes(summary, shown, "x", Math.max(0, ...values)),
        plugins: { legend: { display: false }, tooltip: tooltip(summary, "x") },
      },
    });
  }

  function buckets(summary) {
    const width = summary.bucket_seconds * 1000;
    const times = [];
    const start = Math.floor(Date.parse(summary.start_date) / width) * width;
    for (let t = start; t <= Date.parse(summary.end_date); t += width) times.push(t);
    return times;
  }

  /* The dates of the events that a bucket counts: those of the summary where it begins
     before them or ends after. Buckets are of whole seconds, events of microseconds. */
  function counted(summary, from) {
    const { start_date, end_date } = summary;
    const next = from + summary.bucket_seconds * 1000;
    const first = new Date(from).toISOString();
    const last = new Date(next - 1).toISOString().replace("Z", "999Z");
    return {
      start_date: Date.parse(start_date) < from ? first : start_date,
      end_date: Date.parse(end_date) < next ? end_date : last,
    };
  }

  function drawSeries(summary, shown) {
    const times = buckets(summary);
    const points = summary.groups.flatMap((group) => group.series);
    const scales = axes(
      summary, shown, "y", Math.max(0, ...points.map((point) => point.value))
    );
    Object.assign(scales.x.ticks, { maxRotation: 0, autoSkipPadding: 16 });
    scales.x.title = {
      display: true, text: "UTC; colours as in the bars", color: shown.text,
    };
    draw("chart-series", {
      type: "line",
      data: {
        labels: times.map((t) => new Date(t).toISOString().slice(5, 16).replace("T", " ")),
        datasets: summary.groups.map((group, n) => {
          const values = new Map(
            group.series.map((point) => [Date.parse(point.time), point.value])
          );
          const colour = shown.colours[n % shown.colours.length];
          return {
            label: label(group),
            data: times.map((t) => values.get(t) || 0),
            borderColor: colour,
            backgroundColor: colour,
            pointRadius: 0,
            borderWidth: 2,
          };
        }),
      },
      options: {
        interaction: { mode: "nearest", axis: "x", intersect: false },
        onClick: (event, _, chart) => {
          // The hits are the points of all groups at one time.
          const [hit] = chart.getElementsAtEventForMode(
            event, "nearest", { axis: "xy", intersect: false }, true
          );
          if (!hit) return;
          const group = summary.groups[hit.datasetIndex];
          open(behind(group, counted(summary, times[hit.index])));
        },
        onHover: pointer,
        scales,
        plugins: {
          legend: { display: false },
          tooltip: tooltip(summary, "y"),
        },
      },
    });
  }

  function cell(row, text, address) {
    const holder = row.insertCell();
    const name = document.createElement(address ? "a" : "bdi");
    if (address) name.href = address;
    name.textContent = text;
    holder.append(name);
  }

  /* The same for those who do not see the charts, or use no mouse. */
  function drawTable(summary) {
    const table = panel.querySelector(".chart-table table");
    table.querySelector("[data-group]").textContent = chosen("group_by").replace("_", " ");
    table.querySelector("[data-metric]").textContent = summary.metric;
    table.tBodies[0].replaceChildren();
    for (const group of summary.groups) {
      const row = table.tBodies[0].insertRow();
      cell(row, label(group), behind(group));
      cell(row, amount(group.value, summary.metric));
      cell(row, short(group.first));
      cell(row, short(group.last));
    }
  }

  function short(moment) {
    return new Date(moment).toISOString().slice(0, 16).replace("T", " ");
  }

  let newest = null;

  function redraw() {
    if (newest === null) return;
    const shown = theme();
    drawTop(newest, shown);
    drawSeries(newest, shown);
    drawTable(newest);
  }

  function inAll(summary) {
    const total = amount(summary.total, summary.metric);
    const noun = summary.total === 1 ? summary.metric.slice(0, -1) : summary.metric;
    const what = `${total}${summary.metric === "bytes" ? "" : ` ${noun}`} in all`;
    return `${what}, from ${short(summary.start_date)} to ${short(summary.end_date)} UTC`;
  }

  let asked = 0;

  async function refresh() {
    const number = ++asked;
    const query = new URLSearchParams(window.location.search);
    query.set("group_by", chosen("group_by"));
    query.set("metric", chosen("metric"));
    const { oldest } = panel.dataset;
    if (oldest && !query.get("start_date")) query.set("start_date", oldest);
    // A line needs points: of a few hours the API gives one for each by itself.
    const span = Date.parse(query.get("end_date")) - Date.parse(query.get("start_date"));
    if (span <= 3 * 3600e3) query.set("bucket", span <= 3600e3 ? "1m" : "5m");
    try {
      const answer = await fetch(`${panel.dataset.url}?${query}`);
      const summary = await answer.json();
      if (!answer.ok) throw new Error(summary.message);
      if (number !== asked) return;
      newest = summary;
      redraw();
      status.textContent = summary.groups.length
        ? inAll(summary)
        : "Nothing in this span";
    } catch (error) {
      status.textContent = `The summary is not available: ${error.message}`;
    }
  }

  /* What is followed brings new rows all the time: the charts need not keep step. */
  const patience = 10000;
  let waiting = false;
  document.addEventListener("explorer:new", () => {
    if (waiting) return;
    waiting = true;
    window.setTimeout(() => {
      waiting = false;
      refresh();
    }, patience);
  });
  darkScheme.addEventListener("change", redraw);
  new MutationObserver(redraw).observe(document.documentElement, {
    attributeFilter: ["data-theme"],
  });
  status.textContent = "Loading …";
  refresh();
})();
