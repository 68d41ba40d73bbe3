// Timelines take part in the selection of their pool: the block's number gets a halo, a click on a point selects its block.
// Must not know: how figures are drawn; it reads what stands on the page. A figure says in its layout's meta whose it is.

const NUMBERS = { queue: ".textpoint text", blocks: ".ytick text" };

function plotsSelect() {
  const meta = (plot) => plot?.layout?.meta?.kvnb;
  const halo = (plot) => {
    const { pool, which } = meta(plot), block = selection(pool);
    if (!NUMBERS[which]) return;
    for (const word of plot.querySelectorAll(NUMBERS[which])) {
      const mine = block !== null && word.textContent.trim() === String(block);
      Object.assign(word.style, mine
        ? { stroke: "var(--jp-warn-color1, #f57c00)", strokeWidth: "5px", strokeLinejoin: "round", paintOrder: "stroke" }
        : { stroke: "", strokeWidth: "", strokeLinejoin: "", paintOrder: "" });
    }
  };
  const blockAt = (plot, { customdata, y, data }) => {
    if (meta(plot).which === "queue") return Number.isInteger(customdata) ? customdata : null;
    return meta(plot).which === "blocks" && data.type === "bar" ? Math.round(y) : null;
  };
  document.addEventListener(SELECT, ({ detail }) => {
    for (const plot of document.querySelectorAll(".js-plotly-plot")) if (meta(plot)?.pool === detail.pool) halo(plot);
  });
  // A figure is known once the mouse comes to it; before, nobody can click it.
  const known = new WeakSet();
  document.addEventListener("pointerover", ({ target }) => {
    const plot = target.closest?.(".js-plotly-plot");
    if (!meta(plot) || !plot.on || known.has(plot)) return;
    known.add(plot);
    halo(plot);
    plot.on("plotly_click", ({ points }) => {
      const blocks = points.map((point) => blockAt(plot, point)).filter((block) => block !== null);
      if (blocks.length) select(meta(plot).pool, blocks[0]);
    });
    plot.on("plotly_afterplot", () => halo(plot));
  });
}

plotsSelect(); // this module runs once a page
