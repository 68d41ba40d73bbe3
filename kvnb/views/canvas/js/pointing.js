// Pointer and keyboard on a canvas: hover asks, click selects, drag pans, wheel and pinch zoom.
// Must not know: how a picture is laid out. It asks the picture:
//   at(x, y): id or null · box(id): [x, y, side] or null · neighbour(id, key): id · told(id), guess(id): lines
//   draw() · reveal(id) · and where it can zoom: zoomable(), zoom(factor, x, y), pan(dx, dy), reset()

function pointing(model, host, canvas, signal, picture) {
  const pool = model.get("pool"), tip = tooltip(signal), answers = new Map(), on = { signal };
  const unseen = { position: "absolute", width: "1px", height: "1px", overflow: "hidden", clipPath: "inset(50%)" };
  const heard = make("div", unseen, "", host);
  heard.className = "kvnb-said";
  heard.setAttribute("aria-live", "polite");
  let over = null, pinned = false, timer = 0;
  canvas.tabIndex = 0;
  canvas.style.outlineColor = "var(--jp-brand-color1, currentcolor)";
  canvas.setAttribute("role", "img");
  host.dataset.lmSuppressShortcuts = "true"; // JupyterLab would take the arrow keys

  const send = (message) => { try { model.send(message); } catch { /* without a kernel there is less to tell */ } };
  const lines = (id) => [...picture.told(id), ...(answers.get(id) ?? picture.guess(id))];
  const place = (id) => {
    const box = picture.box(id), rect = canvas.getBoundingClientRect();
    if (!box) return tip.hide();
    const x = rect.left + box[0], y = rect.top + box[1];
    tip.show(lines(id), x, y + box[2] + 7, y - 3);
  };
  const hover = (id) => {
    if (id === over) return;
    over = id; pinned = false; clearTimeout(timer);
    if (id === null) return tip.hide();
    place(id); ask(id, 80);
  };
  const ask = (id, wait) => {
    clearTimeout(timer);
    if (!answers.has(id)) timer = setTimeout(() => send({ ask: id }), wait);
  };
  const choose = (id) => { if (select(pool, id)) send({ select: id }); };

  // --- what others say ---
  const message = (content) => {
    if ("select" in content) select(pool, content.select);
    if (!("about" in content)) return;
    answers.set(content.about, content.lines);
    if (over === content.about) place(over);
  };
  const fresh = () => { answers.clear(); if (over !== null) { place(over); ask(over, 150); } };
  model.on("msg:custom", message);
  signal.addEventListener("abort", () => { model.off("msg:custom", message); clearTimeout(timer); });
  document.addEventListener(SELECT, ({ detail }) => {
    if (detail.pool !== pool) return;
    heard.textContent = detail.block === null ? "no block selected" : lines(detail.block).filter(Boolean).join(", ");
    picture.draw();
  }, on);

  // --- pointer ---
  const down = new Map();
  let moved = 0, apart = 0;
  const spread = () => { const [a, b] = [...down.values()]; return Math.hypot(a.x - b.x, a.y - b.y); };
  canvas.addEventListener("pointerdown", (event) => {
    down.set(event.pointerId, { x: event.offsetX, y: event.offsetY });
    canvas.setPointerCapture(event.pointerId);
    if (down.size === 1) moved = 0;
    if (down.size === 2) { moved = 99; apart = spread(); }
  }, on);
  canvas.addEventListener("pointermove", (event) => {
    const from = down.get(event.pointerId), [x, y] = [event.offsetX, event.offsetY];
    if (!from) return hover(picture.at(x, y));
    const [dx, dy] = [x - from.x, y - from.y];
    moved += Math.abs(dx) + Math.abs(dy);
    down.set(event.pointerId, { x, y });
    if (moved < 5 || !picture.pan) return;
    hover(null);
    if (down.size === 2) { const now = spread(); picture.zoom(now / apart, x, y); apart = now; } else picture.pan(dx, dy);
  }, on);
  canvas.addEventListener("pointerup", (event) => {
    if (down.delete(event.pointerId) && moved < 5) choose(picture.at(event.offsetX, event.offsetY));
  }, on);
  canvas.addEventListener("pointercancel", (event) => down.delete(event.pointerId), on);
  canvas.addEventListener("pointerleave", () => { if (!pinned) hover(null); }, on);
  document.addEventListener("scroll", () => hover(null), { signal, capture: true, passive: true });
  canvas.addEventListener("dblclick", () => picture.reset?.(), on);
  // The wheel scrolls the notebook, unless the map was clicked or Ctrl is held (which a pinch on a touchpad says too).
  canvas.addEventListener("wheel", (event) => {
    if (!picture.zoomable?.() || !(event.ctrlKey || event.metaKey || document.activeElement === canvas)) return;
    event.preventDefault();
    hover(null);
    const by = -Math.max(-60, Math.min(60, event.deltaY)) / (event.ctrlKey ? 120 : 200);
    picture.zoom(Math.exp(by), event.offsetX, event.offsetY);
  }, { signal, passive: false });

  // --- keyboard ---
  canvas.addEventListener("keydown", (event) => {
    const id = selection(pool), key = event.key;
    if (key === "Enter" && id !== null) { hover(null); hover(id); pinned = true; }
    else if (key === "Escape") { if (over !== null) hover(null); else choose(null); }
    else if (/^(Arrow|Home|End|Page)/.test(key)) {
      const next = picture.neighbour(id, key);
      hover(null); choose(next); picture.reveal?.(next);
    } else if (picture.zoomable?.() && "+=-0".includes(key)) {
      if (key === "0") picture.reset(); else picture.zoom(key === "-" ? 1 / 1.6 : 1.6);
    } else return;
    event.preventDefault(); event.stopPropagation();
  }, on);
  canvas.addEventListener("blur", () => { if (pinned) hover(null); }, on);
  return { fresh };
}
