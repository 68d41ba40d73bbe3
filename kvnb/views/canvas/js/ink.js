// Colours as they are now, and a block as a tile: the same language as kvnb/views/tiles.py.
// Must not know: where a tile stands, which picture it belongs to.

// Colours of requests and moments come from the kernel (kvnb/views/theme.py), ground and text from the notebook's theme.
function inks(host, look) {
  const style = getComputedStyle(host), root = getComputedStyle(document.body);
  const theme = (name, or) => root.getPropertyValue(name).trim() || or;
  return {
    ...look, text: theme("--jp-content-font-color1", style.color), ground: theme("--jp-layout-color0", "Canvas"),
    font: theme("--jp-content-font-family", style.fontFamily || "sans-serif"), faint: "rgba(128,128,128,.14)",
  };
}

function rounded(g, x, y, w, h, r) { g.beginPath(); g.roundRect(x, y, w, h, r); }

function corner(g, x, y, wide, side) {
  const room = Math.max(1.5, side / 10), far = x + wide - room, near = Math.max(Math.min(4.5, side * .45), side * .2);
  g.beginPath(); g.moveTo(far - near, y + room); g.lineTo(far, y + room); g.lineTo(far, y + room + near); g.fill();
}

function hatch(g, ink, x, y, side) {
  g.save(); rounded(g, x, y, side, side, side / 5); g.clip();
  g.strokeStyle = ink.edge; g.globalAlpha = .45; g.lineWidth = Math.max(1, side / 14); g.beginPath();
  for (let d = side / 6; d < 2 * side; d += Math.max(3, side / 5)) { g.moveTo(x + d, y); g.lineTo(x, y + d); }
  g.stroke(); g.restore();
}

// A word in the middle of (x, y), smaller where there is not the room for it, left out where it could not be read.
function label(g, ink, says, x, y, size, room, colour, halo) {
  g.font = `bold ${size}px ${ink.font}`;
  const wide = g.measureText(says).width;
  if (wide > room) { size *= room / wide; g.font = `bold ${size}px ${ink.font}`; }
  if (size < 6.5) return;
  g.textAlign = "center"; g.textBaseline = "middle";
  if (halo) { g.strokeStyle = halo; g.lineWidth = 3; g.lineJoin = "round"; g.strokeText(says, x, y); }
  g.fillStyle = colour; g.fillText(says, x, y + size * .06);
}

// One block, `side` high and `wide`. Moments first, so that they lie behind; the cross last.
function tile(g, ink, id, word, refs, x, y, side, wide = side) {
  const ring = word & HIT ? ink.hit : word & BACK ? ink.line : null, thick = Math.max(1.5, side / 10);
  if (ring) {
    rounded(g, x - thick / 2, y - thick / 2, wide + thick, side + thick, side / 5 + thick / 2);
    g.strokeStyle = ring; g.lineWidth = thick; g.stroke();
  }
  ((word & 3) > FREE ? owned : notOwned)(g, ink, id, word, refs, x, y, side, wide);
  if (word & LOST) cross(g, ink, x + side * .06, y + side * .06, Math.max(3, side * .23));
}

const lettersFor = (side) => Math.min(13, side * .42);

function notOwned(g, ink, id, word, refs, x, y, side, wide) {
  const hashed = word & HASHED, two = id === 0 && side >= 28, size = lettersFor(side);
  if (id === 0) hatch(g, ink, x, y, side);
  rounded(g, x + .5, y + .5, wide - 1, side - 1, side / 5);
  if (hashed) { g.fillStyle = ink.faint; g.fill(); }
  g.strokeStyle = id === 0 ? ink.line : ink.edge; g.lineWidth = 1;
  if (id !== 0 && !hashed) g.setLineDash([Math.max(1.5, side / 12), Math.max(1.5, side / 12)]);
  g.stroke(); g.setLineDash([]);
  if (hashed) { g.fillStyle = ink.text; corner(g, x, y, wide, side); }
  label(g, ink, String(id), x + wide / 2, y + side * (two ? .38 : .53), size, wide - 4, ink.text, id === 0 && ink.ground);
  if (two) label(g, ink, "null", x + wide / 2, y + side * .74, size * .75, wide - 4, ink.text, ink.ground);
}

function owned(g, ink, id, word, refs, x, y, side, wide) {
  const [fill, over] = ink.table[word >> 6 & 31], shared = (word & 3) === BOTH, low = side * .34;
  rounded(g, x, y, wide, side, side / 5);
  g.fillStyle = fill; g.fill();
  if (shared) {
    const [band, onBand] = ink.table[word >> 11];
    g.save(); g.clip(); g.fillStyle = band; g.fillRect(x, y + side - low, wide, low); g.restore();
    if (side >= 24) label(g, ink, `×${refs}`, x + wide / 2, y + side - low / 2, low * .92, wide - 4, onBand);
  }
  const middle = shared ? (side - low) / 2 + side * .02 : side * .53;
  label(g, ink, String(id), x + wide / 2, y + middle, lettersFor(side), wide - 4, over);
  if (word & HASHED) { g.fillStyle = over; corner(g, x, y, wide, side); }
}

function cross(g, ink, x, y, r) {
  g.beginPath(); g.arc(x, y, r, 0, 7); g.fillStyle = ink.lost[0]; g.fill();
  g.strokeStyle = ink.lost[1]; g.lineWidth = Math.max(1, r / 3.5); g.beginPath();
  for (const s of [1, -1]) { g.moveTo(x - r * .45, y - s * r * .45); g.lineTo(x + r * .45, y + s * r * .45); }
  g.stroke();
}

// The ring of the selected block: the text's colour, with ground between, so that it is seen on anything.
function chosen(g, ink, x, y, side, wide = side) {
  const off = Math.max(2, side / 9);
  rounded(g, x - off, y - off, wide + 2 * off, side + 2 * off, side / 5 + off);
  g.strokeStyle = ink.ground; g.lineWidth = 4; g.stroke();
  g.strokeStyle = ink.text; g.lineWidth = 2; g.stroke();
}
