// A dashboard: figures, controls, free queue, blocks, requests, timeline, and what was clicked; one below the other.
// Must not know: how blocks are drawn, what a control does.

function board(model, host, signal) {
  const store = boards().get(model.get("me"));
  if (!store?.alive) { make("div", { opacity: .72 }, GONE, host); return; }
  let inner = null;
  const fresh = () => {
    inner?.abort();
    inner = new AbortController();
    host.replaceChildren();
    // A page that was loaded again may know some blocks only, and has asked for all.
    if (store.frame) boardOf(store, host, inner.signal); else store.on("news", fresh, inner.signal);
  };
  signal.addEventListener("abort", () => inner.abort());
  store.on("pool", fresh, signal);
  store.on("gone", () => { inner.abort(); host.replaceChildren(); make("div", { opacity: .72 }, GONE, host); }, signal);
  fresh();
}

const GONE = "The kernel that drew this is gone: run %kvpool dashboard again.";

function boardOf(store, host, signal) {
  const { model } = store, parts = model.get("parts");
  if (!host.closest("[data-kvnb-place]")) host.style.padding = "8px 12px"; // a panel of its own has no margins
  host.dataset.lmSuppressShortcuts = "true"; // JupyterLab would take the arrow keys, and letters in the fields
  Object.assign(host.style, { maxWidth: "900px", font: "13px/1.4 var(--jp-content-font-family, sans-serif)" });
  head(store, host, signal);
  gaugesOf(store, host, signal);
  mounted(store, parts.travel, host, signal);
  mounted(store, parts.commands, host, signal);
  saidOf(store, host, signal);
  const place = (says, more) => make("div", { position: "relative", minWidth: 0 }, undefined, titled(host, says, more));
  queueStrip(pictureModel(store, () => model.get("queue")), place("free queue", "front first, reused next"), signal);
  blockMap(pictureModel(store, () => store.frame), place("blocks", "in the order of their ids"), signal);
  const requests = titled(host, "requests", "");
  requestTables(store, requests, place.bind(null, "", "")(), signal);
  const line = titled(host, "timeline", "");
  mounted(store, parts.choose, line, signal);
  timelineOf(store, line, signal);
  clickedOf(store, host, signal);
}

// A part of the board with its name; quiet, for what is drawn says most of it itself.
function titled(host, says, more) {
  const part = make("div", { marginTop: says ? "10px" : 0 }, undefined, host);
  if (!says) return part;
  const line = make("div", { fontSize: "12px", lineHeight: "18px" }, undefined, part);
  make("b", {}, says, line);
  make("span", { opacity: .72, marginLeft: "8px" }, more, line);
  return part;
}

// The pool's name and size, which step is shown, what that step did.
function head(store, host, signal) {
  const line = make("div", { display: "flex", flexWrap: "wrap", columnGap: "8px", alignItems: "baseline" }, undefined, host);
  const [name, size] = store.model.get("title");
  make("b", { fontSize: "16px" }, name, line);
  make("span", { opacity: .72 }, size, line);
  const at = make("span", { marginLeft: "auto", fontVariantNumeric: "tabular-nums" }, "", line);
  const says = make("div", { minHeight: "18px", lineHeight: "18px", overflowWrap: "anywhere" }, "", host);
  says.className = "kvnb-says";
  at.className = "kvnb-step";
  const draw = () => {
    const { seq, step, steps, now, digest, held, says: lines } = store.news;
    at.replaceChildren();
    const where = now ? `step ${number(step)}` : `step ${number(step)} of ${number(steps)}, the past`;
    make("b", {}, where, at);
    make("span", { opacity: .72 }, ` · digest ${digest}${held ? ` · ${held}` : ""}`, at);
    says.textContent = lines.join(" · ");
    at.dataset.seq = seq;
    says.style.opacity = now ? 1 : .72;
  };
  store.on("news", draw, signal);
  draw();
}

function gaugesOf(store, host, signal) {
  const line = make("div", { display: "flex", flexWrap: "wrap", gap: "6px 24px", margin: "6px 0 4px" }, undefined, host);
  line.className = "kvnb-gauges";
  const draw = () => line.replaceChildren(...store.news.gauges.map(gaugeOf));
  store.on("news", draw, signal);
  draw();
}

function gaugeOf([figure, word, below, part]) {
  const one = make("div", { minWidth: "104px", lineHeight: "16px" }), first = make("div", {}, undefined, one);
  make("b", { fontSize: "18px", lineHeight: "24px", fontVariantNumeric: "tabular-nums" }, figure, first);
  make("span", {}, ` ${word}`, first);
  const bar = make("div", { height: "4px", borderRadius: "2px", margin: "1px 0 2px", overflow: "hidden" }, undefined, one);
  if (part !== null) {
    bar.style.background = "rgba(128,128,128,.25)";
    make("div", { height: "100%", width: `${100 * part}%`, background: "currentcolor", opacity: .72 }, undefined, bar);
  }
  make("div", { fontSize: "12px", opacity: .72 }, below, one);
  return one;
}

// What the last click did, or why it did nothing.
function saidOf(store, host, signal) {
  const line = make("div", { minHeight: "18px", lineHeight: "18px", overflowWrap: "anywhere" }, "", host);
  line.className = "kvnb-clicked";
  line.setAttribute("role", "status");
  const draw = () => {
    const { said, wrong } = store.model.get("clicks");
    line.textContent = said && (wrong ? `✕ ${said}` : `✓ ${said}`);
    line.style.color = wrong ? "var(--jp-error-color1, #c62828)" : "";
  };
  store.on("clicks", draw, signal);
  draw();
}

// The clicks as a cell that does the same.
function clickedOf(store, host, signal) {
  const part = make("details", { marginTop: "10px", fontSize: "12px" }, undefined, host);
  const summary = make("summary", { cursor: "pointer", opacity: .72 }, "", part);
  const look = { margin: "4px 0", padding: "6px 8px", overflowX: "auto", background: "rgba(128,128,128,.1)" };
  const code = make("pre", look, "", part);
  const copy = make("button", BUTTON, "copy as cell", part);
  copy.type = "button";
  copy.className = "kvnb-copy";
  const draw = () => {
    const { cell } = store.model.get("clicks"), lines = cell.split("\n").length - 1;
    part.style.display = cell ? "" : "none";
    summary.textContent = `clicked so far: ${lines === 1 ? "1 command" : `${lines} commands`}`;
    if (code.textContent !== cell) { code.textContent = cell; copy.textContent = "copy as cell"; }
  };
  copy.addEventListener("click", () => copied(code).then(() => { copy.textContent = "copied"; }), { signal });
  store.on("clicks", draw, signal);
  draw();
}

const BUTTON = {
  borderRadius: "4px", border: "1px solid #808080", padding: "2px 8px", font: "12px/18px var(--jp-ui-font-family, sans-serif)",
  background: "var(--jp-layout-color0, Canvas)", color: "var(--jp-content-font-color1, CanvasText)", cursor: "pointer",
};

// The clipboard is for pages from this machine or over TLS; elsewhere the old way.
async function copied(node) {
  try { await navigator.clipboard.writeText(node.textContent); } catch {
    getSelection().selectAllChildren(node);
    document.execCommand("copy");
  }
}
