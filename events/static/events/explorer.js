/* Draws the summaries of a stream above its list, from the API. */
"use strict";
(function () {
  const panel = document.getElementById("stream-charts");
  if (!panel) return;
  const colours = [
    "#3366cc", "#dc3912", "#ff9900", "#109618", "#990099",
    "#0099c6", "#dd4477", "#66aa00", "#b82e2e", "#316395",
  ];
  const filters = JSON.parse(document.getElementById("summary-filters").textContent);
  const status = panel.querySelector("[role=status]");
  const charts = {};

  function chosen(name) {
    return panel.querySelector(`[name=${name}]`).value;
  }

  function label(group) {
    return group.name || Object.values(group.key).join(" / ") || "(none)";
  }

  function draw(id, config) {
    if (charts[id]) charts[id].destroy();
    config.options = Object.assign(
      { animation: false, maintainAspectRatio: false }, config.options
    );
    charts[id] = new Chart(document.getElementById(id), config);
  }

  function drawTop(summary) {
    draw("chart-top", {
      type: "bar",
      data: {
        labels: summary.groups.map(label),
        datasets: [{
          label: summary.metric,
          data: summary.groups.map((group) => group.value),
          backgroundColor: summary.groups.map((_, n) => colours[n % colours.length]),
        }],
      },
      options: { indexAxis: "y", plugins: { legend: { display: false } } },
    });
  }

  function buckets(summary) {
    const width = summary.bucket_seconds * 1000;
    const times = [];
    const start = Math.floor(Date.parse(summary.start_date) / width) * width;
    for (let t = start; t <= Date.parse(summary.end_date); t += width) times.push(t);
    return times;
  }

  function drawSeries(summary) {
    const times = buckets(summary);
    draw("chart-series", {
      type: "line",
      data: {
        labels: times.map((t) => new Date(t).toISOString().slice(5, 16).replace("T", " ")),
        datasets: summary.groups.map((group, n) => {
          const values = new Map(
            group.series.map((point) => [Date.parse(point.time), point.value])
          );
          const colour = colours[n % colours.length];
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
      options: { plugins: { legend: { position: "bottom" } } },
    });
  }

  async function refresh() {
    const start = new Date(Date.now() - Number(chosen("span")) * 3600e3);
    const query = new URLSearchParams({
      group_by: chosen("group_by"),
      metric: chosen("metric"),
      start_date: start.toISOString(),
    });
    for (const [name, value] of Object.entries(filters)) query.set(name, value);
    status.textContent = "Loading …";
    try {
      const answer = await fetch(`${panel.dataset.url}?${query}`);
      const summary = await answer.json();
      if (!answer.ok) throw new Error(summary.message);
      drawTop(summary);
      drawSeries(summary);
      status.textContent = summary.groups.length
        ? `${summary.total.toLocaleString("en")} ${summary.metric} in all`
        : "Nothing in this span";
    } catch (error) {
      status.textContent = `The summary is not available: ${error.message}`;
    }
  }

  panel.addEventListener("change", refresh);
  refresh();
})();
