// What canvases share with the page: elements, the selection, the theme, the tooltip, the places that outputs left for them.
// Must not know: blocks' states, what is drawn.

function make(tag, style, text, parent) {
  const node = document.createElement(tag);
  Object.assign(node.style, style);
  if (text !== undefined) node.textContent = text;
  parent?.append(node);
  return node;
}

// --- the selection: one a pool, known to every canvas of it on the page, kernel or not ---

const SELECT = "kvnb:select", KEPT = Symbol.for("kvnb.selected");
const selection = (pool) => (document[KEPT] ??= new Map()).get(pool) ?? null;

function select(pool, block) {
  if (selection(pool) === block) return false;
  document[KEPT].set(pool, block);
  document.dispatchEvent(new CustomEvent(SELECT, { detail: { pool, block } }));
  return true;
}

// --- when to draw again ---

// Calls `again` whenever the theme, the size or the resolution changes; ends with `signal`.
function whenLooksChange(host, signal, again) {
  const sized = new ResizeObserver(again), themed = new MutationObserver(() => { again(); setTimeout(again, 150); });
  sized.observe(host);
  themed.observe(document.body, { attributes: true, attributeFilter: ["data-jp-theme-light", "data-jp-theme-name", "class"] });
  const dark = matchMedia("(prefers-color-scheme: dark)");
  dark.addEventListener("change", again, { signal });
  addEventListener("resize", again, { signal });
  signal.addEventListener("abort", () => { sized.disconnect(); themed.disconnect(); });
}

// A canvas of that many CSS pixels, sharp on any screen; its context draws in CSS pixels.
function sized(canvas, wide, high) {
  const ratio = devicePixelRatio || 1, [w, h] = [Math.round(wide * ratio), Math.round(high * ratio)];
  if (canvas.width !== w || canvas.height !== h) { canvas.width = w; canvas.height = h; }
  Object.assign(canvas.style, { width: `${wide}px`, height: `${high}px` });
  const g = canvas.getContext("2d");
  g.setTransform(ratio, 0, 0, ratio, 0, 0);
  g.clearRect(0, 0, wide, high);
  return g;
}

// No more frames, and the memory of the last.
function emptied(canvas, due) { cancelAnimationFrame(due); canvas.width = canvas.height = 0; }

// --- the tooltip: text only, on top of the page so that no cell cuts it off ---

function tooltip(signal) {
  const tip = make("div", {
    position: "fixed", zIndex: 10000, pointerEvents: "none", display: "none", maxWidth: "340px", padding: "5px 8px",
    borderRadius: "4px", font: "12px/16px var(--jp-ui-font-family, sans-serif)", fontVariantNumeric: "tabular-nums",
    background: "var(--jp-layout-color0, Canvas)", color: "var(--jp-content-font-color1, CanvasText)",
    border: "1px solid var(--jp-border-color1, #808080)", boxShadow: "0 2px 6px rgba(0,0,0,.25)", overflowWrap: "anywhere",
  }, "", document.body);
  tip.className = "kvnb-tip";
  tip.setAttribute("role", "tooltip");
  signal.addEventListener("abort", () => tip.remove());
  return {
    hide() { tip.style.display = "none"; },
    show(lines, x, y, above) {
      tip.replaceChildren(...lines.filter(Boolean).map((line, i) => make("div", { fontWeight: i ? "" : "bold" }, line)));
      tip.style.display = "block";
      const { width, height } = tip.getBoundingClientRect();
      tip.style.left = `${Math.max(4, Math.min(x, innerWidth - width - 4))}px`;
      tip.style.top = `${y + height + 4 > innerHeight ? above - height - 4 : y}px`;
    },
  };
}

// --- places: an output's static form, marked, over which a canvas is drawn while its widget lives ---

function fillPlaces(model, signal, render) {
  const id = model.get("place"), query = `[data-kvnb-place="${CSS.escape(id)}"]`, filled = new Map();
  const look = () => {
    for (const place of document.querySelectorAll(query)) if (!filled.has(place)) filled.set(place, fill(place, model, render));
  };
  // Every letter typed into a cell comes by here, so only what is new is searched.
  const has = (node) => node.nodeType === 1 && (node.matches(query) || node.querySelector(query));
  const watch = new MutationObserver((records) => {
    for (const [place, end] of filled) if (!place.isConnected) { end(); filled.delete(place); }
    if (records.some(({ addedNodes }) => [...addedNodes].some(has))) look();
  });
  const leave = () => { watch.disconnect(); for (const end of filled.values()) end(); filled.clear(); };
  watch.observe(document.body, { childList: true, subtree: true });
  look();
  signal.addEventListener("abort", leave);
  // A kernel that is restarted knows nothing of what it drew.
  const watched = (own) => model.on("comm_live_update", () => { if (!own.comm_live) leave(); });
  model.widget_manager.get_model(id).then(watched, () => {});
}

function fill(place, model, render) {
  const still = [...place.children], styles = still.map((child) => child.style.display), ended = new AbortController();
  const over = make("div", {}, undefined, place);
  for (const child of still) child.style.display = "none";
  render({ model, el: over, signal: ended.signal });
  return () => {
    ended.abort(); over.remove();
    still.forEach((child, i) => { child.style.display = styles[i]; });
  };
}
