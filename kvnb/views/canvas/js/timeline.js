// The timeline of a dashboard: plotly draws it, in the place of the one before; the future of the step shown is dimmed.
// Must not know: which timelines there are.

const PLOTLY = Symbol.for("kvnb.plotly");

// plotly.js, asked of the kernel once a page; it comes gzipped. Null when the kernel went before it answered: whoever is
// still there asks again.
function plotly(store) {
  const { model } = store, waiting = new AbortController();
  return (globalThis[PLOTLY] ??= new Promise((got) => {
    const take = (content, buffers) => { if (content.plotly) { waiting.abort(); got(unpacked(buffers[0])); } };
    waiting.signal.addEventListener("abort", () => model.off("msg:custom", take));
    model.on("msg:custom", take);
    store.on("gone", () => { waiting.abort(); globalThis[PLOTLY] = undefined; got(null); }, waiting.signal);
    // Without a kernel nothing comes, and soon the store says that it is gone.
    try { model.send({ plotly: 1 }); } catch { /* see above */ }
  }));
}

async function unpacked(view) {
  const bytes = new Blob([view]).stream().pipeThrough(new DecompressionStream("gzip"));
  const url = URL.createObjectURL(new Blob([await new Response(bytes).text()], { type: "text/javascript" }));
  const before = Object.getOwnPropertyDescriptor(globalThis, "Plotly");
  await import(url);
  URL.revokeObjectURL(url);
  const found = globalThis.Plotly;
  // The library names itself for the whole page: another one of that name stays what it was.
  if (before) Object.defineProperty(globalThis, "Plotly", before); else delete globalThis.Plotly;
  return found;
}

const isDark = () => document.body.dataset.jpThemeLight === "false"
  || (document.body.dataset.jpThemeLight === undefined && matchMedia("(prefers-color-scheme: dark)").matches);

// Words with tags between them, in lines of so many letters.
function wrapped(text, letters) {
  let at = 0;
  return text.replace(/<[^>]+>|\s+|[^<\s]+/g, (part) => {
    if (part === "<br>") at = 0;
    if (part.includes("font-size:12px")) letters *= 1.25; // the line below the title is in small letters
    if (part.startsWith("<")) return part;
    const fits = at + part.length <= letters || !part.trim() || !at;
    at = fits ? at + part.length : part.length;
    return fits ? part : `<br>${part}`;
  });
}

// Where there is little room the words above a figure take more lines.
function narrowed({ data, layout }, wide) {
  if (wide >= 620) return layout;
  const [first, second, ...rest] = layout.title.text.replace("; ", ";<br>").split(" · ");
  const parts = [[first, second].filter(Boolean).join(" · "), rest.join(" · ")].filter(Boolean);
  const text = wrapped(parts.join("<br>"), (wide - 90) / 8);
  const named = data.filter(({ name, showlegend }) => name && showlegend !== false).length;
  const lines = text.split("<br>").length - 2 + Math.max(0, Math.ceil(named * 150 / (wide - 90)) - 1), more = 18 * lines;
  const title = { ...layout.title, text }, margin = { ...layout.margin, t: 88 + more };
  const { range: [from, to], dtick } = layout.xaxis, every = Math.ceil((to - from) * 40 / (wide - 90));
  const xaxis = dtick === 1 ? { ...layout.xaxis, dtick: every } : layout.xaxis;
  return { ...layout, title, margin, xaxis, height: layout.height + more };
}

const REST = 3; // so many times as long as it takes to draw

function timelineOf(store, host, signal) {
  const { model } = store, wrong = make("div", { opacity: .72 }, "", host);
  const plot = make("div", { display: "none" }, undefined, host);
  plot.className = "kvnb-timeline";
  let figure = null, drawn = null, busy = false, again = false, dark = null;

  // One drawing at a time, when the page has nothing better to do, and then a rest: plotly may hold a page for a second,
  // and the other pictures come first. What comes meanwhile is drawn once, at the end.
  async function draw() {
    if (busy) { again = true; return; }
    busy = true;
    await new Promise((idle) => { (globalThis.requestIdleCallback ?? setTimeout)(idle, { timeout: 1000 }); });
    let took = 0;
    try {
      if (signal.aborted) return;
      const which = figure?.which;
      wrong.textContent = figure?.wrong ?? "";
      plot.style.display = which ? "" : "none";
      if (which) {
        const lib = await plotly(store);
        if (signal.aborted) return;
        if (!lib) { again = store.alive; return; }
        const began = performance.now(), shapes = [...(figure.layout.shapes ?? []), ...future()];
        await lib.react(plot, figure.data, { ...narrowed(figure, plot.clientWidth), shapes, autosize: true }, figure.config);
        Object.assign(plot.dataset, { until: figure.until, which, step: store.news.step, dark: figure.dark });
        drawn = lib;
        if (signal.aborted) lib.purge(plot);
        took = performance.now() - began;
      }
    } finally {
      setTimeout(() => {
        busy = false;
        if (again && !signal.aborted) { again = false; draw(); }
      }, Math.min(REST * took, 4000));
    }
  }
  const fresh = () => { figure = JSON.parse(model.get("figure") || "null"); draw(); };
  // A veil of the ground's colour over the steps to come.
  function future() {
    const { step, now } = store.news;
    if (now || step >= figure.until) return [];
    const ground = getComputedStyle(document.body).getPropertyValue("--jp-layout-color0").trim() || (isDark() ? "#111" : "#fff");
    const veil = { type: "rect", xref: "x", yref: "paper", x0: step + .5, x1: figure.until + .6, y0: 0, y1: 1, layer: "above" };
    const edge = { type: "line", xref: "x", yref: "paper", x0: step + .5, x1: step + .5, y0: 0, y1: 1, layer: "above" };
    const dotted = { color: "#808080", width: 1, dash: "dot" };
    return [{ ...veil, fillcolor: ground, opacity: .72, line: { width: 0 } }, { ...edge, line: dotted }];
  }
  const themed = () => {
    if (dark === isDark()) return;
    dark = isDark();
    try { model.send({ dark }); } catch { /* without a kernel the figure stays as it is */ }
  };
  let seen = null, wide = 0;
  store.on("figure", fresh, signal);
  store.on("news", () => {
    const { step, now } = store.news, here = now ? null : step;
    if (here !== seen && figure?.which) draw();
    seen = here;
  }, signal);
  whenLooksChange(host, signal, () => {
    themed();
    if (drawn && figure?.which && plot.clientWidth !== wide) draw();
    wide = plot.clientWidth;
  });
  signal.addEventListener("abort", () => drawn?.purge(plot));
  themed();
  fresh();
}
