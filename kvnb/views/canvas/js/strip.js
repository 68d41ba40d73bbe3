// The free queue, front to back: its two ends as tiles, and what a change did to them, moving for a moment.
// Must not know: blocks that are neither at an end of the queue nor just left it.

const MOVES = 380, SIDE = 30, GAP = 6, HEAD = 12; // HEAD: the room above and below, for what comes and leaves

// Where everything stands: words and tiles in lines, as wide as the canvas; tiles as wide as the longest number.
function flow(queue, wide) {
  const width = Math.max(SIDE, 8 * String(queue.size - 1).length + 6);
  const middle = queue.length - queue.front.length - queue.back.length;
  const more = `… ${number(middle)} more …`, items = [], at = new Map();
  let x = EDGES, y = HEAD;
  const put = (room) => {
    if (x > EDGES && x + room > wide) { x = EDGES; y += SIDE + GAP; }
    const here = [x, y];
    x += room;
    return here;
  };
  const words = (room, ...lines) => items.push([put(room), lines]);
  const tiles = (ids) => { for (const id of ids) at.set(id, put(width + GAP)); };
  if (!queue.length) words(190, "empty: every block is in use");
  else {
    words(78, "FRONT", "reused next");
    tiles(queue.front);
    if (middle) words(7.2 * more.length + 8, more);
    tiles(queue.back);
    x += 4;
    words(72, "BACK", "reused last");
  }
  return { items, at, width, high: y + SIDE + HEAD, more: items.find(([, [says]]) => says[0] === "…")?.[0] };
}

const between = (from, to, part) => [0, 1].map((i) => from[i] + (to[i] - from[i]) * part);

// A track for each tile that was or is shown: [id, from, to, alpha from, alpha to].
function tracks(before, now, queue) {
  const list = [], gone = new Set(queue.gone), next = queue.front[0];
  for (const [id, to] of now.at) {
    const from = before.at.get(id), back = queue.word.get(id) & BACK;
    const start = from ?? (back || !before.more ? [to[0], to[1] + HEAD] : before.more);
    list.push([id, start, to, from ? 1 : 0, 1]);
  }
  // Those that were taken in a row from the front leave to the left, others are plucked: they rise.
  let front = true;
  for (const [id, from] of before.at) {
    front &&= gone.has(id);
    if (gone.has(id)) list.push([id, from, front ? [from[0] - SIDE, from[1]] : [from[0], from[1] - HEAD], 1, 0]);
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
  const below = make("div", { opacity: .72, minHeight: model.painted ? "18px" : 0 }, "", host); // a board stands still
  canvas.className = "kvnb-queue";
  let queue = readQueue(model.get("frame")), ink = null, now = null, moving = null, due = 0;
  const still = () => matchMedia("(prefers-reduced-motion: reduce)").matches || document.hidden;
  const ids = () => [...now.at.keys()];
  const shown = () => !signal.aborted && host.clientWidth > 40;
  const draw = () => { due ||= requestAnimationFrame(() => { due = 0; if (shown()) paint(); }); };

  function paint() {
    const began = performance.now();
    ink ??= inks(host, model.get("look"));
    now = flow(queue, host.clientWidth);
    const done = moving ? Math.min(1, (performance.now() - moving.since) / MOVES) : 1;
    const high = done < 1 ? Math.max(now.high, moving.before.high) : now.high, g = sized(canvas, host.clientWidth, high);
    const part = 1 - (1 - done) ** 3;
    for (const [at, words] of now.items) wordsAt(g, between(done < 1 && wordsBefore(words[0]) || at, at, part), words);
    if (done < 1) for (const track of moving.list ??= tracks(moving.before, now, queue)) moved(g, track, part);
    else for (const [id, at] of now.at) tile(g, ink, id, word(id), queue.ref.get(id), ...at, SIDE, now.width);
    const id = selection(model.get("pool"));
    if (done === 1 && now.at.has(id)) chosen(g, ink, ...now.at.get(id), SIDE, now.width);
    Object.assign(below.style, { font: `12px/18px ${ink.font}`, color: ink.text });
    canvas.setAttribute("aria-label", summary());
    Object.assign(canvas.dataset, { seq: queue.seq, drawn: (performance.now() - began).toFixed(2), moving: String(done < 1) });
    if (done < 1) draw(); else moving = null;
  }
  const word = (id) => queue.word.get(id) ?? moving?.words.get(id) ?? FREE;
  const wordsBefore = (says) => moving.before.items.find(([, [first]]) => first === says)?.[0];
  // What comes or leaves does so small and pale.
  function moved(g, [id, from, to, solid, then], part) {
    const [x, y] = between(from, to, part), here = solid + (then - solid) * part, size = .6 + .4 * here;
    g.save();
    g.globalAlpha = here;
    g.translate(x + now.width / 2, y + SIDE / 2); g.scale(size, size);
    tile(g, ink, id, word(id), queue.ref.get(id), -now.width / 2, -SIDE / 2, SIDE, now.width);
    g.restore();
  }
  function wordsAt(g, [x, y], [first, second]) {
    Object.assign(g, { fillStyle: ink.text, textAlign: "left", textBaseline: "middle" });
    g.font = second ? `bold 11px ${ink.font}` : `12px ${ink.font}`;
    if (!second) g.globalAlpha = .75;
    g.fillText(first, x, y + SIDE * (second ? .28 : .52));
    g.font = `11px ${ink.font}`; g.globalAlpha = .75;
    if (second) g.fillText(second, x, y + SIDE * .76);
    g.globalAlpha = 1;
  }
  function summary() {
    const middle = queue.length - queue.front.length - queue.back.length;
    const star = (id) => `${id}${word(id) & HASHED ? " cached" : ""}`;
    const list = [...queue.front.map(star), ...(middle ? [`${number(middle)} more`] : []), ...queue.back.map(star)].join(", ");
    if (!queue.length) return "Free queue: empty, every block is in use";
    return `Free queue of ${number(queue.length)} blocks, front first: ${list}`;
  }

  const pointed = pointing(model, host, canvas, signal, {
    draw,
    at(x, y) {
      const inside = ([, [left, top]]) => x >= left && x < left + now.width && y >= top && y < top + SIDE;
      return [...(now?.at ?? [])].find(inside)?.[0] ?? null;
    },
    box: (id) => (now?.at.has(id) ? [...now.at.get(id), SIDE] : null),
    told(id) {
      return now?.at.has(id) ? told(id, word(id), queue.ref.get(id)) : [`block ${id}: not shown in the queue`];
    },
    guess: () => [],
    neighbour(id, key) {
      const all = ids(), place = all.indexOf(id);
      const by = { ArrowLeft: -1, ArrowUp: -1, ArrowRight: 1, ArrowDown: 1, Home: -1e9, End: 1e9 }[key] ?? 0;
      return all[place < 0 ? 0 : Math.min(all.length - 1, Math.max(0, place + by))] ?? null;
    },
  });
  const fresh = () => {
    if (model.get("frame").byteLength < 20) return;
    const before = now && flow(queue, host.clientWidth), words = queue.word;
    queue = readQueue(model.get("frame"));
    if (before) below.textContent = changeTold(before, queue);
    moving = before && !still() ? { since: performance.now(), before, words } : null;
    draw(); pointed.fresh();
  };
  model.on("change:frame", fresh);
  signal.addEventListener("abort", () => { model.off("change:frame", fresh); emptied(canvas, due); });
  whenLooksChange(host, signal, () => { ink = null; draw(); });
  draw();
}
