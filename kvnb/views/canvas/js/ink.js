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

function corner(g, x, y, side, room) {
  const far = x + side - room, near = Math.max(2, side * .2);
  g.beginPath(); g.moveTo(far - near, y + room); g.lineTo(far, y + room); g.lineTo(far, y + room + near); g.fill();
}

function hatch(g, ink, x, y, side) {
  g.save(); rounded(g, x, y, side, side, side / 5); g.clip();
  g.strokeStyle = ink.edge; g.globalAlpha = .45; g.lineWidth = Math.max(1, side / 14); g.beginPath();
  for (let d = side / 6; d < 2 * side; d += Math.max(3, side / 5)) { g.moveTo(x + d, y); g.lineTo(x, y + d); }
  g.stroke(); g.restore();
}

function label(g, ink, says, x, y, size, room, colour, halo) {
  g.font = `bold ${size}px ${ink.font}`;
  const wide = g.measureText(says).width;
  if (wide > room) { size *= room / wide; g.font = `bold ${size}px ${ink.font}`; }
  if (size < 6.5) return;
  g.textAlign = "center"; g.textBaseline = "middle";
  if (halo) { g.strokeStyle = halo; g.lineWidth = 3; g.lineJoin = "round"; g.strokeText(says, x, y); }
  g.fillStyle = colour; g.fillText(says, x, y + size * .06);
}

// One block in a square of `side`. Moments first, so that they lie behind; the cross last.
function tile(g, ink, id, word, refs, x, y, side) {
  const kind = word & 3, r = side / 5, size = Math.min(13, side * .42), [first, second] = [word >> 6 & 31, word >> 11];
  const ring = word & HIT ? ink.hit : word & BACK ? ink.line : null, wide = Math.max(1.5, side / 10);
  if (ring) {
    rounded(g, x - wide / 2, y - wide / 2, side + wide, side + wide, r + wide / 2);
    g.strokeStyle = ring; g.lineWidth = wide; g.stroke();
  }
  if (kind === OWN || kind === BOTH) owned(g, ink, id, word, refs, x, y, side, size, first, second);
  else {
    if (id === 0) hatch(g, ink, x, y, side);
    rounded(g, x + .5, y + .5, side - 1, side - 1, r);
    if (word & HASHED) { g.fillStyle = ink.faint; g.fill(); }
    g.strokeStyle = id === 0 ? ink.line : ink.edge; g.lineWidth = 1;
    if (kind === FREE && !(word & HASHED)) g.setLineDash([Math.max(1.5, side / 12), Math.max(1.5, side / 12)]);
    g.stroke(); g.setLineDash([]);
    if (word & HASHED) { g.fillStyle = ink.text; corner(g, x, y, side, Math.max(1.5, side / 10)); }
    const two = id === 0 && side >= 28;
    label(g, ink, String(id), x + side / 2, y + side * (two ? .38 : .53), size, side - 4, ink.text, id === 0 && ink.ground);
    if (two) label(g, ink, "null", x + side / 2, y + side * .74, size * .75, side - 4, ink.text, ink.ground);
  }
  if (word & LOST) cross(g, ink, x + side * .06, y + side * .06, Math.max(3, side * .23));
}

function owned(g, ink, id, word, refs, x, y, side, size, first, second) {
  const [fill, over] = ink.table[first], shared = (word & 3) === BOTH, low = side * .34;
  rounded(g, x, y, side, side, side / 5);
  g.fillStyle = fill; g.fill();
  if (shared) {
    g.save(); g.clip(); g.fillStyle = ink.table[second][0]; g.fillRect(x, y + side - low, side, low); g.restore();
    if (side >= 24) label(g, ink, `×${refs}`, x + side / 2, y + side - low / 2, low * .92, side - 4, ink.table[second][1]);
  }
  label(g, ink, String(id), x + side / 2, y + (shared ? (side - low) / 2 + side * .02 : side * .53), size, side - 4, over);
  if (word & HASHED) { g.fillStyle = over; corner(g, x, y, side, Math.max(1.5, side / 10)); }
}

function cross(g, ink, x, y, r) {
  g.beginPath(); g.arc(x, y, r, 0, 7); g.fillStyle = ink.lost[0]; g.fill();
  g.strokeStyle = ink.lost[1]; g.lineWidth = Math.max(1, r / 3.5); g.beginPath();
  for (const s of [1, -1]) { g.moveTo(x - r * .45, y - s * r * .45); g.lineTo(x + r * .45, y + s * r * .45); }
  g.stroke();
}

// The ring of the selected block: the text's colour, with ground between, so that it is seen on anything.
function chosen(g, ink, x, y, side) {
  const off = Math.max(2, side / 9);
  rounded(g, x - off, y - off, side + 2 * off, side + 2 * off, side / 5 + off);
  g.strokeStyle = ink.ground; g.lineWidth = 4; g.stroke();
  g.strokeStyle = ink.text; g.lineWidth = 2; g.stroke();
}
