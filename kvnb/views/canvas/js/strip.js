// The free queue, front to back: its two ends as tiles, and what a change did to them, moving for a moment.
// Must not know: blocks that are neither at an end of the queue nor just left it.

const MOVES = 380;
const FRONT = ["FRONT", "reused next"], LAST = ["BACK", "reused last"];

// Where everything stands: words and tiles in lines, as wide as the canvas.
function flow(queue, wide, natural) {
  const side = natural * 30 / 36, items = [], at = new Map(), room = { front: 78, back: 72, more: 104, empty: 190 };
  let x = EDGES, y = EDGES;
  const put = (w) => {
    if (x > EDGES && x + w > wide) { x = EDGES; y += natural; }
    const here = [x, y];
    x += w;
    return here;
  };
  const tiles = (ids) => { for (const id of ids) at.set(id, put(natural)); };
  if (!queue.length) items.push([put(room.empty), ["empty: every block is in use"]]);
  else {
    items.push([put(room.front), FRONT]);
    tiles(queue.front);
    const between = queue.length - queue.front.length - queue.back.length;
    if (between) items.push([put(room.more), [`… ${number(between)} more …`]]);
    tiles(queue.back);
    items.push([put(room.back), LAST]);
  }
  return { items, at, side, high: y + natural + EDGES - 6 + 4, more: items.find(([, [says]]) => says[0] === "…")?.[0] };
}

// A track for each tile that was or is shown: [id, from, to, alpha from, alpha to].
function tracks(before, now, queue) {
  const list = [], gone = new Set(queue.gone), next = queue.front[0];
  for (const [id, to] of now.at) {
    const from = before.at.get(id), back = queue.word.get(id) & BACK;
    const start = from ?? (back || !before.more ? [to[0], to[1] + now.side * .9] : before.more);
    list.push([id, start, to, from ? 1 : 0, 1]);
  }
  // Those that were taken in a row from the front leave to the left, others are plucked: they rise.
  let front = true;
  for (const [id, from] of before.at) {
    front &&= gone.has(id);
    if (gone.has(id)) list.push([id, from, front ? [from[0] - now.side, from[1]] : [from[0], from[1] - now.side * .8], 1, 0]);
    else if (!now.at.has(id)) list.push([id, from, now.more ?? from, 1, 0]);
  }
  return list;
}

// What changed, in words, for those for whom nothing moves.
function changeTold(before, queue) {
  const taken = [], gone = new Set(queue.gone), kept = [...before.at.keys()];
  while (kept.length && gone.has(kept[0])) taken.push(kept.shift());
  const plucked = kept.filter((id) => gone.has(id));
  const back = [queue.front, queue.back].map((ids) => ids.filter((id) => queue.word.get(id) & BACK && !before.at.has(id)));
  const came = [...back[0], ...back[1]], some = (ids) => (ids.length > 6 ? `${ids.length} blocks` : ids.join(" "));
  const says = (ids, what) => (ids.length ? [`${some(ids)} ${what}`] : []);
  return [...says(taken, "left the front"), ...says(plucked, "plucked from the middle"), ...says(came, "came back")].join(" · ");
}

function queueStrip(model, host, signal) {
  const canvas = make("canvas", { display: "block" }, undefined, host);
  const below = make("div", { opacity: .72 }, "", host);
  canvas.className = "kvnb-queue";
  let queue = readQueue(model.get("frame")), ink = null, now = null, moving = null, due = 0;
  const natural = () => Math.max(36, 12 + 8 * String(queue.size - 1).length);
  const still = () => matchMedia("(prefers-reduced-motion: reduce)").matches || document.hidden;
  const ids = () => [...now.at.keys()];
  const draw = () => { due ||= requestAnimationFrame(() => { due = 0; if (!signal.aborted && host.clientWidth > 40) paint(); }); };

  function paint() {
    const began = performance.now();
    ink ??= inks(host, model.get("look"));
    now = flow(queue, host.clientWidth, natural());
    const done = moving ? Math.min(1, (performance.now() - moving.since) / MOVES) : 1;
    const high = done < 1 ? Math.max(now.high, moving.before.high) : now.high, g = sized(canvas, host.clientWidth, high);
    for (const [at, words] of now.items) wordsAt(g, at, words);
    if (done < 1) for (const track of moving.list ??= tracks(moving.before, now, queue)) moved(g, track, 1 - (1 - done) ** 3);
    else for (const [id, at] of now.at) tile(g, ink, id, word(id), queue.ref.get(id), ...at, now.side);
    const id = selection(model.get("pool"));
    if (done === 1 && now.at.has(id)) chosen(g, ink, ...now.at.get(id), now.side);
    Object.assign(below.style, { font: `12px/18px ${ink.font}`, color: ink.text });
    canvas.setAttribute("aria-label", summary());
    Object.assign(canvas.dataset, { seq: queue.seq, drawn: (performance.now() - began).toFixed(2), moving: String(done < 1) });
    if (done < 1) draw(); else moving = null;
  }
  const word = (id) => queue.word.get(id) ?? moving?.words.get(id) ?? FREE;
  function moved(g, [id, from, to, solid, then], part) {
    g.globalAlpha = solid + (then - solid) * part;
    tile(g, ink, id, word(id), queue.ref.get(id), from[0] + (to[0] - from[0]) * part, from[1] + (to[1] - from[1]) * part, now.side);
    g.globalAlpha = 1;
  }
  function wordsAt(g, [x, y], [first, second]) {
    Object.assign(g, { fillStyle: ink.text, textAlign: "left", textBaseline: "middle" });
    g.font = second ? `bold 11px ${ink.font}` : `12px ${ink.font}`;
    if (!second) g.globalAlpha = .75;
    g.fillText(first, x, y + now.side * (second ? .28 : .52));
    g.font = `11px ${ink.font}`; g.globalAlpha = .75;
    if (second) g.fillText(second, x, y + now.side * .76);
    g.globalAlpha = 1;
  }
  function summary() {
    const between = queue.length - queue.front.length - queue.back.length, star = (id) => `${id}${word(id) & HASHED ? " cached" : ""}`;
    const list = [...queue.front.map(star), ...(between ? [`${number(between)} more`] : []), ...queue.back.map(star)].join(", ");
    return queue.length ? `Free queue of ${number(queue.length)} blocks, front first: ${list}` : "Free queue: empty, every block is in use";
  }

  const pointed = pointing(model, host, canvas, signal, {
    draw,
    at(x, y) {
      for (const [id, [left, top]] of now?.at ?? []) if (x >= left && x < left + now.side && y >= top && y < top + now.side) return id;
      return null;
    },
    box: (id) => (now?.at.has(id) ? [...now.at.get(id), now.side] : null),
    told: (id) => (queue.word.has(id) ? told(id, word(id), queue.ref.get(id)) : [`block ${number(id)}: not shown in the queue`]),
    guess: () => [],
    neighbour(id, key) {
      const all = ids(), place = all.indexOf(id), by = { ArrowLeft: -1, ArrowUp: -1, ArrowRight: 1, ArrowDown: 1, Home: -1e9, End: 1e9 }[key] ?? 0;
      return all[place < 0 ? 0 : Math.min(all.length - 1, Math.max(0, place + by))] ?? null;
    },
  });
  const fresh = () => {
    const before = now && flow(queue, host.clientWidth, natural()), words = queue.word;
    queue = readQueue(model.get("frame"));
    if (before) below.textContent = changeTold(before, queue);
    moving = before && !still() ? { since: performance.now(), before, words } : null;
    draw(); pointed.fresh();
  };
  model.on("change:frame", fresh);
  signal.addEventListener("abort", () => { model.off("change:frame", fresh); cancelAnimationFrame(due); canvas.width = canvas.height = 0; });
  whenLooksChange(host, signal, () => { ink = null; draw(); });
  draw();
}
