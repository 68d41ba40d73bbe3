// What stands round a canvas: words for the kinds of tiles, each with its number; requests in their colours; buttons.
// Must not know: how the canvas is laid out.

const KINDS = [["used by one", OWN], ["shared", BOTH | 1 << 11], ["free and cached", FREE | HASHED], ["free and empty", FREE]];
const MOMENTS = [["just hit", HIT], ["just came back", BACK], ["just lost its hash", LOST]];
const number = (n) => n.toLocaleString("en");

function counted(frame) {
  const kinds = [0, 0, 0, 0], moments = [0, 0, 0];
  for (let id = 1; id < frame.size; id++) {
    const word = frame.words[id], kind = word & 3;
    kinds[kind === OWN ? 0 : kind === BOTH ? 1 : word & HASHED ? 2 : 3]++;
    if (word & (HIT | BACK | LOST)) MOMENTS.forEach(([, bit], i) => { if (word & bit) moments[i]++; });
  }
  const seen = moments.map((n, i) => [n, MOMENTS[i][0], FREE | HASHED | MOMENTS[i][1]]).filter(([n]) => n);
  return [...kinds.map((n, i) => [n, ...KINDS[i]]), ...seen];
}

// Writes the words below a map, once for a frame and a theme, and gives them as one sentence.
function legend(below, model, ink, frame) {
  if (frame.legend?.ink === ink) return frame.legend.says;
  const parts = counted(frame), says = parts.map(([n, word]) => `${number(n)} ${word}`).join(", ");
  const line = make("div", { font: `12px/20px ${ink.font}`, color: ink.text, paddingLeft: "7px" });
  Object.assign(line.style, { display: "flex", flexWrap: "wrap", columnGap: "18px" });
  for (const [n, word, look] of parts) {
    const part = make("span", { whiteSpace: "nowrap" }, undefined, line);
    swatch(part, ink, look);
    make("span", { opacity: .72 }, `${number(n)} ${word}`, part);
  }
  names(line, model, ink);
  below.replaceChildren(line);
  frame.legend = { ink, says };
  return says;
}

function swatch(part, ink, word) {
  const canvas = make("canvas", { verticalAlign: "-4px", marginRight: "3px" }, undefined, part);
  canvas.setAttribute("aria-hidden", "true");
  tile(sized(canvas, 18, 18), { ...ink, table: ink.table }, 1, word, 2, 2, 2, 14);
}

function names(line, model, ink) {
  const owners = model.get("owners");
  const list = make("span", { display: "flex", flexWrap: "wrap", columnGap: "4px", minWidth: 0 });
  for (const [name, colour] of owners.names) {
    const [background, color] = ink.table[colour];
    const chip = { background, color, borderRadius: "4px", padding: "0 6px", margin: "1px 0" };
    make("b", { ...chip, font: `bold 11px/17px ${ink.font}` }, name, list);
  }
  if (owners.more) make("span", { opacity: .72 }, `and ${number(owners.more)} more`, list);
  if (owners.names.length) line.append(list);
}

// The owner of a block as far as colours tell it: only where a single request has that colour.
function ownerOf(model, word) {
  const { names, more } = model.get("owners"), same = names.filter(([, colour]) => colour === (word >> 6 & 31));
  return (word & 3) === OWN && !more && same.length === 1 ? [`in the table of ${same[0][0]}`] : [];
}

// In, out, all: for the mouse and for the Tab key; shown where there is something to zoom.
function zoomButtons(foot) {
  const bar = make("div", { display: "none", gap: "4px", padding: "2px 7px 0 0" }, undefined, foot);
  const look = {
    width: "24px", height: "24px", padding: 0, borderRadius: "4px", border: "1px solid #808080",
    font: "bold 14px/20px var(--jp-ui-font-family, sans-serif)",
    background: "var(--jp-layout-color0, Canvas)", color: "var(--jp-content-font-color1, CanvasText)",
  };
  const button = (text, says, does) => {
    const node = make("button", look, text, bar);
    Object.assign(node, { type: "button", title: `${says} (${does})` });
    node.setAttribute("aria-label", says);
    return node;
  };
  const closer = button("+", "Zoom in", "or Ctrl and the wheel; the wheel alone after a click on the map");
  const [wider, all] = [button("−", "Zoom out", "drag to move"), button("⤢", "All blocks", "or a double click")];
  return {
    show(can, zoomed) {
      bar.style.display = can ? "flex" : "none";
      for (const node of [wider, all]) Object.assign(node, { disabled: !zoomed }).style.opacity = zoomed ? 1 : .45;
    },
    wire(picture, signal) {
      closer.addEventListener("click", () => picture.zoom(2), { signal });
      wider.addEventListener("click", () => picture.zoom(.5), { signal });
      all.addEventListener("click", () => picture.reset(), { signal });
    },
  };
}
