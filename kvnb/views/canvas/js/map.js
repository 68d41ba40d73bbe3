// The block map: every block in the order of its id, tiles with numbers where there is room, pixels where there is not.
// Must not know: where the canvas stands, the free queue.

const EDGES = 7, TALLEST = 480, DRAWN = 9, LARGEST = 64; // DRAWN: from so many pixels on a block is drawn as a tile

// How many columns, and how large a block is: as a tile if all fit, else as many whole device pixels as fit.
function gridFor(size, wide) {
  const ratio = devicePixelRatio || 1, digits = String(size - 1).length, natural = Math.max(36, 6 + 8 * digits + 6);
  const columns = (pitch) => {
    const fit = Math.max(1, Math.floor(wide / pitch + 1e-6));
    return pitch >= DRAWN ? Math.min(fit, size) : fit - (fit >= 200 ? fit % 50 : fit > 20 ? fit % 10 : 0);
  };
  const high = (pitch) => Math.ceil(size / columns(pitch)) * pitch;
  if (high(natural) <= TALLEST) return { columns: columns(natural), fit: natural, natural };
  let pixels = Math.floor(natural * ratio);
  while (pixels > 1 && high(pixels / ratio) > (pixels <= 2 ? 1.4 : 1) * TALLEST) pixels--;
  return { columns: columns(pixels / ratio), fit: pixels / ratio, natural };
}

const rgba = (colour, alpha = 255) => {
  const six = colour.length === 4 ? colour.replace(/[^#]/g, "$&$&") : colour, n = parseInt(six.slice(1), 16);
  return (alpha << 24 | (n & 255) << 16 | n & 0xff00 | n >> 16) >>> 0;
};

// All blocks at two by two pixels each: a corner for a hash, the second colour below, nothing for free and empty.
function pixelsOf(frame, columns, ink) {
  const rows = Math.ceil(frame.size / columns), canvas = document.createElement("canvas");
  Object.assign(canvas, { width: 2 * columns, height: 2 * rows });
  const g = canvas.getContext("2d"), image = g.createImageData(2 * columns, 2 * rows), out = new Uint32Array(image.data.buffer);
  g.fillStyle = ink.text; g.fillRect(0, 0, 1, 1);
  const [red, green, blue] = g.getImageData(0, 0, 1, 1).data, mark = (150 << 24 | blue << 16 | green << 8 | red) >>> 0;
  const colours = ink.table.map(([fill]) => rgba(fill)), empty = rgba("#808080", 34), kept = rgba("#808080", 120);
  for (let id = 0; id < frame.size; id++) {
    const word = frame.words[id], kind = word & 3, at = (id / columns | 0) * 4 * columns + 2 * (id % columns);
    let above = colours[word >> 6 & 31], right = above, below = above;
    if (kind === FREE) { above = below = word & HASHED ? kept : empty; right = word & HASHED ? mark : empty; }
    else if (kind === BOTH) below = colours[word >> 11];
    else if (kind === NULL) { above = mark; right = below = empty; }
    out[at] = above; out[at + 1] = right; out[at + 2 * columns] = below; out[at + 2 * columns + 1] = kind === NULL ? mark : below;
  }
  g.putImageData(image, 0, 0);
  return canvas;
}

function blockMap(model, host, signal) {
  const canvas = make("canvas", { display: "block" }, undefined, host);
  const foot = make("div", { display: "flex", alignItems: "flex-start", gap: "12px" }, undefined, host);
  const below = make("div", { flex: 1, minWidth: 0 }, undefined, foot), buttons = zoomButtons(foot);
  canvas.className = "kvnb-map";
  // A widget of its own has bytes, a dashboard the frame that it added up.
  const given = () => { const got = model.get("frame"); return got.words ? got : readBlocks(got); };
  let frame = given(), ink = null, grid = null, pixels = null, due = 0;
  let scale = 0, left = 0, top = 0; // CSS pixels a block, and where the first block is
  const moments = () => frame.moments ??= [...frame.words.keys()].filter((id) => frame.words[id] & (HIT | LOST | BACK));
  const wide = () => host.clientWidth - 2 * EDGES, high = () => Math.ceil(frame.size / grid.columns) * grid.fit;
  const side = () => scale * (scale >= 20 ? 30 / 36 : scale >= DRAWN ? .86 : 1);
  const corner = (id) => [EDGES + left + id % grid.columns * scale, EDGES + top + Math.floor(id / grid.columns) * scale];

  function layOut() {
    const before = grid;
    grid = gridFor(frame.size, wide());
    if (before?.columns === grid.columns && before.fit === grid.fit) return;
    scale = grid.fit; left = top = 0; pixels = null;
  }
  const content = () => [grid.columns * scale, Math.ceil(frame.size / grid.columns) * scale];
  function bound() {
    const [w, h] = content();
    left = Math.min(0, Math.max(left, Math.min(0, grid.columns * grid.fit - w)));
    top = Math.min(0, Math.max(top, Math.min(0, high() - h)));
    if (scale === grid.fit) left = top = 0;
  }
  const shown = () => !signal.aborted && host.clientWidth > 40;
  const draw = () => { due ||= requestAnimationFrame(() => { due = 0; if (shown()) paint(); }); };

  function paint() {
    const began = performance.now();
    ink ??= inks(host, model.get("look"));
    layOut(); bound();
    const [w, h] = [grid.columns * grid.fit, high()], g = sized(canvas, w + 2 * EDGES, h + 2 * EDGES);
    g.save();
    if (scale > grid.fit) { g.beginPath(); g.rect(0, 0, w + 2 * EDGES, h + 2 * EDGES); g.clip(); }
    if (scale < DRAWN) paintPixels(g); else paintTiles(g, w, h);
    paintMoments(g);
    const id = selection(model.get("pool"));
    if (id !== null && id < frame.size) ringed(g, id, chosen.bind(null, g, ink));
    g.restore();
    canvas.style.cursor = scale > grid.fit ? "grab" : "default";
    canvas.style.touchAction = scale > grid.fit ? "none" : "pan-x pan-y";
    foot.style.maxWidth = picture.zoomable() ? `${w + 2 * EDGES}px` : "";
    buttons.show(picture.zoomable(), scale > grid.fit);
    canvas.setAttribute("aria-label", `Block map of ${number(frame.size)} blocks: ${legend(below, model, ink, frame)}`);
    const drawn = (performance.now() - began).toFixed(2);
    Object.assign(canvas.dataset, { seq: frame.seq, drawn, pitch: scale, columns: grid.columns, left, top });
    model.painted?.(canvas);
  }
  function paintPixels(g) {
    pixels ??= pixelsOf(frame, grid.columns, ink);
    g.imageSmoothingEnabled = false;
    g.drawImage(pixels, EDGES + left, EDGES + top, pixels.width / 2 * scale, pixels.height / 2 * scale);
  }
  function paintTiles(g, w, h) {
    const rows = [Math.floor((-top - EDGES) / scale), Math.ceil((h - top + EDGES) / scale)];
    const columns = [Math.floor((-left - EDGES) / scale), Math.ceil((w - left + EDGES) / scale)];
    for (let row = Math.max(0, rows[0]); row < rows[1]; row++) {
      for (let column = Math.max(0, columns[0]); column < Math.min(grid.columns, columns[1]); column++) {
        const id = row * grid.columns + column;
        if (id < frame.size) tile(g, ink, id, frame.words[id], frame.refs.get(id), ...corner(id), side());
      }
    }
  }
  // Where blocks are pixels, what just happened is still ringed, larger than the block.
  function paintMoments(g) {
    if (scale >= DRAWN || moments().length > 4000) return;
    g.lineWidth = 1.5;
    for (const id of moments()) {
      const word = frame.words[id];
      g.strokeStyle = word & HIT ? ink.hit : word & LOST ? ink.lost[0] : ink.edge;
      const around = (x, y, wide) => g.strokeRect(x - 1, y - 1, wide + 2, wide + 2);
      ringed(g, id, word & LOST ? (x, y, wide) => cross(g, ink, x + wide / 2, y + wide / 2, 4) : around);
    }
  }
  function ringed(g, id, drawn) {
    const [x, y] = corner(id), least = Math.max(side(), 6), off = (side() - least) / 2;
    drawn(x + off, y + off, least);
  }

  const picture = {
    draw,
    at(x, y) {
      const [column, row] = [Math.floor((x - EDGES - left) / scale), Math.floor((y - EDGES - top) / scale)];
      const id = row * grid.columns + column;
      return column >= 0 && column < grid.columns && row >= 0 && id < frame.size ? id : null;
    },
    box(id) {
      if (id >= frame.size) return null;
      const [x, y] = corner(id);
      return x < -scale || y < -scale || x > canvas.clientWidth || y > canvas.clientHeight ? null : [x, y, side()];
    },
    told: (id) => (id < frame.size ? told(id, frame.words[id], frame.refs.get(id)) : [`block ${id}`]),
    guess: (id) => ownerOf(model, frame.words[id]),
    neighbour(id, key) {
      if (id === null) return 0;
      const row = grid.columns, last = frame.size - 1;
      const by = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -row, ArrowDown: row, PageUp: -10 * row, PageDown: 10 * row }[key];
      const to = key === "Home" ? 0 : key === "End" ? last : id + by;
      return to < 0 || to > last ? id : to;
    },
    reveal(id) {
      const [x, y] = corner(id), [w, h] = [canvas.clientWidth, canvas.clientHeight], margin = scale / 2;
      left += Math.max(0, margin + EDGES - x) - Math.max(0, x + scale + margin + EDGES - w);
      top += Math.max(0, margin + EDGES - y) - Math.max(0, y + scale + margin + EDGES - h);
      draw();
    },
    zoomable: () => grid !== null && grid.fit < grid.natural,
    zoom(factor, x = canvas.clientWidth / 2, y = canvas.clientHeight / 2) {
      const to = Math.min(LARGEST, Math.max(grid.fit, scale * factor)), by = to / scale;
      left = x - EDGES - (x - EDGES - left) * by; top = y - EDGES - (y - EDGES - top) * by;
      scale = to < grid.fit * 1.02 ? grid.fit : to;
      draw();
    },
    pan(dx, dy) { if (scale > grid.fit) { left += dx; top += dy; draw(); } },
    reset() { if (grid) { scale = grid.fit; left = top = 0; draw(); } },
  };
  const pointed = pointing(model, host, canvas, signal, picture);
  buttons.wire(picture, signal);
  const fresh = () => {
    if (model.get("frame").byteLength < 16) return;
    frame = given();
    pixels = null; draw(); pointed.fresh();
  };
  model.on("change:frame", fresh);
  signal.addEventListener("abort", () => { model.off("change:frame", fresh); emptied(canvas, due); });
  whenLooksChange(host, signal, () => { ink = null; pixels = null; draw(); });
  draw();
}
