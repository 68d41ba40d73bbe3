// Tiles that are elements of the page take part in the selection of their pool, as soon as one canvas is on the page.
// Must not know: the kernel; how a canvas draws or hears. Tiles are made by kvnb/views/tiles.py and request_tables.py.

const POOL = "data-kvnb-pool";
// Names in their colours and parts of a bar are <b> too; their corners are of four pixels, and a heading has none.
const ROUND = /^(?!4px$)./;

// The block that an element stands for, or null. What is inside it (a corner, a cross, how often it is shared) is no id.
function blockOf(node) {
  const said = [...node.childNodes].filter((child) => child.nodeType === 3).map((child) => child.data).join("").trim();
  return ROUND.test(node.style.borderRadius) && /^\d+$/.test(said) ? Number(said) : null;
}

function tilesSelect() {
  const ringed = new Set();
  const ring = (pool) => {
    const block = selection(pool);
    if (block === null) return;
    for (const tile of document.querySelectorAll(`[${POOL}="${CSS.escape(pool)}"] b`)) if (blockOf(tile) === block) {
      Object.assign(tile.style, { outline: "2px solid var(--jp-content-font-color1, currentcolor)", outlineOffset: "2px" });
      ringed.add(tile);
    }
  };
  const poolOf = (node) => node.closest?.(`[${POOL}]`)?.getAttribute(POOL);
  const again = (pool) => {
    // A tile that scrolled out of the page, or whose output is gone, has its ring taken all the same.
    for (const tile of ringed) if (!tile.isConnected || poolOf(tile) === pool) {
      Object.assign(tile.style, { outline: "", outlineOffset: "" });
      ringed.delete(tile);
    }
    ring(pool);
  };
  document.addEventListener(SELECT, ({ detail }) => again(detail.pool));
  document.addEventListener("click", ({ target }) => {
    const tile = target.closest?.("b"), pool = tile && poolOf(tile), block = pool ? blockOf(tile) : null;
    if (block !== null) select(pool, block);
  });
  document.addEventListener("keydown", ({ key, target }) => {
    if (key !== "Escape" || target.closest?.("input, textarea, [contenteditable]")) return;
    for (const pool of new Set([...ringed].map(poolOf))) if (pool) select(pool, null);
  });
  // What is drawn later, or comes back when it is scrolled to, knows what is selected. Typing comes by here too.
  const has = (node) => node.nodeType === 1 && (node.matches(`[${POOL}]`) || node.querySelector(`[${POOL}]`));
  new MutationObserver((records) => {
    if (!document[KEPT] || !records.some(({ addedNodes }) => [...addedNodes].some(has))) return;
    for (const pool of document[KEPT].keys()) ring(pool);
  }).observe(document.body, { childList: true, subtree: true });
}

tilesSelect(); // this module runs once a page
