// The youngest requests, a line each: name, tokens, and the block table as tiles.
// Must not know: blocks that no shown table holds.

const NAME = 96, FACTS = 128, LINE_HIGH = SIDE + 8, WORDS_HIGH = 32;

// Where there is little room the tiles stand below the words.
const isNarrow = (wide) => wide < 480;
const rowAt = (row, wide) => EDGES + row * (LINE_HIGH + (isNarrow(wide) ? WORDS_HIGH : 0));

// Where each tile stands: [row, x, y, id]; of a table that is too long the middle is left out.
function placed(rows, wide, width) {
  const below = isNarrow(wide), left = below ? EDGES : NAME + FACTS, spots = [], words = [];
  const room = Math.max(1, Math.floor((wide - left - EDGES) / (width + GAP)));
  rows.forEach(({ head, hidden, tail }, row) => {
    const all = [...head, ...tail], fits = !hidden && all.length <= room, y = rowAt(row, wide) + (below ? WORDS_HIGH : 0);
    const back = fits || room <= 6 ? 0 : Math.min(2, tail.length || 2);
    const front = fits ? all.length : Math.max(1, Math.min(head.length, room - back - 3));
    let x = left;
    const put = (id) => { spots.push([row, x, y, id]); x += width + GAP; };
    all.slice(0, front).forEach(put);
    const out = all.length + hidden - front - back;
    if (!fits && out > 0) {
      words.push([x, y, `… ${number(out)} more …`]);
      x += 18 + 6.6 * (`… ${number(out)} more …`).length;
      if (back) all.slice(all.length - back).forEach(put);
    }
  });
  return { spots, words };
}

function requestTables(store, heading, host, signal) {
  const model = pictureModel(store, () => null), pool = model.get("pool");
  const canvas = make("canvas", { display: "block" }, undefined, host);
  const count = make("span", { opacity: .72 }, "", heading);
  canvas.className = "kvnb-requests";
  let ink = null, drawn = { spots: [], words: [] }, due = 0;
  const width = () => Math.max(SIDE, 8 * String(store.frame.size - 1).length + 6);
  const shown = () => !signal.aborted && host.clientWidth > 40 && store.frame;
  const draw = () => { due ||= requestAnimationFrame(() => { due = 0; if (shown()) paint(); }); };
  const spotsOf = (id) => drawn.spots.filter((spot) => spot[3] === id);

  function paint() {
    ink ??= inks(host, model.get("look"));
    const { rows, earlier } = store.news, { words, refs } = store.frame, wide = width();
    const some = earlier ? `the last ${rows.length} of ${number(rows.length + earlier)}` : "";
    heading.firstChild.lastChild.textContent = rows.length ? some : "none";
    const g = sized(canvas, host.clientWidth, rows.length ? rowAt(rows.length, host.clientWidth) + EDGES - 8 : 1);
    drawn = placed(rows, host.clientWidth, wide);
    rows.forEach((row, i) => named(g, row, rowAt(i, host.clientWidth)));
    for (const [x, y, says] of drawn.words) write(g, says, x + 4, y + SIDE / 2, .72);
    for (const [, x, y, id] of drawn.spots) tile(g, ink, id, words[id], refs.get(id), x, y, SIDE, wide);
    for (const [, x, y, id] of spotsOf(selection(pool))) chosen(g, ink, x, y, SIDE, wide);
    canvas.setAttribute("aria-label", summary(rows, earlier));
    canvas.dataset.seq = store.frame.seq;
  }
  function write(g, says, x, y, alpha, bold = "", size = 12) {
    const font = `${bold} ${size}px ${ink.font}`;
    Object.assign(g, { font, fillStyle: ink.text, textAlign: "left", textBaseline: "middle", globalAlpha: alpha });
    g.fillText(says, x, y);
    g.globalAlpha = 1;
  }
  function named(g, { name, colour, tokens, note, head }, y) {
    const [fill, over] = ink.table[colour], middle = y + SIDE / 2;
    g.font = `bold 12px ${ink.font}`;
    const says = fitting(g, name, NAME - 22), wide = g.measureText(says).width + 12;
    rounded(g, 0, middle - 9, wide, 18, 4); g.fillStyle = fill; g.fill();
    Object.assign(g, { fillStyle: over, textAlign: "left", textBaseline: "middle" });
    g.fillText(says, 6, middle + .5);
    const below = note && head.length;
    write(g, tokens, NAME, below ? middle - 7 : middle, 1);
    if (note) write(g, note, below ? NAME : NAME + FACTS, below ? middle + 8 : middle, .72, "", below ? 11 : 12);
  }
  const summary = (rows, earlier) => {
    const lines = rows.map(({ name, tokens, note, head, hidden }) => {
      const blocks = head.length ? `blocks ${head.join(" ")}${hidden ? ` and ${hidden} more` : ""}` : "";
      return `${name}: ${[tokens, note, blocks].filter(Boolean).join(", ")}`;
    });
    return `Requests: ${lines.join("; ") || "none"}${earlier ? `; ${earlier} earlier ones` : ""}`;
  };

  const pointed = pointing(model, host, canvas, signal, {
    draw,
    at(x, y) {
      const inside = ([, left, top]) => x >= left && x < left + width() && y >= top && y < top + SIDE;
      return drawn.spots.find(inside)?.[3] ?? null;
    },
    box(id) { const [spot] = spotsOf(id); return spot ? [spot[1], spot[2], SIDE] : null; },
    told: (id) => told(id, store.frame.words[id], store.frame.refs.get(id)),
    guess: () => [],
    neighbour(id, key) {
      const all = drawn.spots.map((spot) => spot[3]), at = all.indexOf(id);
      const by = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -1, ArrowDown: 1, Home: -1e9, End: 1e9 }[key] ?? 0;
      return all[at < 0 ? 0 : Math.min(all.length - 1, Math.max(0, at + by))] ?? null;
    },
  });
  store.on("news", () => { draw(); pointed.fresh(); }, signal);
  signal.addEventListener("abort", () => { emptied(canvas, due); count.remove(); });
  whenLooksChange(host, signal, () => { ink = null; draw(); });
  draw();
}

// A word cut so that it fits.
function fitting(g, says, room) {
  if (g.measureText(says).width <= room) return says;
  let n = says.length;
  while (n > 1 && g.measureText(`${says.slice(0, n)}…`).width > room) n--;
  return `${says.slice(0, n)}…`;
}
