// Frames of bytes, as kvnb/views/canvas/frames.py writes them, read into typed arrays.
// Must not know: canvases, the page.

const NULL = 0, FREE = 1, OWN = 2, BOTH = 3, HASHED = 4, HIT = 8, LOST = 16, BACK = 32;

const u16 = (view, at, n) => new Uint16Array(view.buffer.slice(view.byteOffset + at, view.byteOffset + at + 2 * n));
const u32 = (view, at, n) => new Uint32Array(view.buffer.slice(view.byteOffset + at, view.byteOffset + at + 4 * n));

// {seq, size, ids (null: all), words, refs: Map from place to ref count, for shared blocks}
function readBlocks(view, at = 0) {
  if (view.getUint16(at) !== 0x4b56 || view.getUint8(at + 2) !== 1) throw new Error("kvnb: not a frame of blocks");
  const some = view.getUint8(at + 3) & 1, seq = view.getUint32(at + 4, true);
  const size = view.getUint32(at + 8, true), count = view.getUint32(at + 12, true);
  const ids = some ? u32(view, at + 16, count) : null, start = at + 16 + (some ? 4 * count : 0);
  const words = u16(view, start, count), refs = new Map();
  let next = start + 2 * count;
  for (let i = 0; i < count; i++) if ((words[i] & 3) === BOTH) { refs.set(i, view.getUint16(next, true)); next += 2; }
  return { seq, size, ids, words, refs };
}

// {seq, length, front, back, gone: ids, words and refs by id}
function readQueue(view) {
  if (view.getUint16(0) !== 0x4b51) throw new Error("kvnb: not a frame of a queue");
  const [front, back, gone] = [12, 14, 16].map((at) => view.getUint16(at, true));
  const { seq, size, ids, words, refs } = readBlocks(view, 20);
  const all = [...ids], word = new Map(), ref = new Map();
  all.forEach((id, i) => { word.set(id, words[i]); if (refs.has(i)) ref.set(id, refs.get(i)); });
  return {
    seq, size, length: view.getUint32(8, true), word, ref,
    front: all.slice(0, front), back: all.slice(front, front + back), gone: all.slice(front + back),
  };
}

// What a word says without a kernel: [sentence, moments].
function told(id, word, refs) {
  const kind = word & 3, hashed = word & HASHED;
  const what = id === 0 ? "the null block, never handed out"
    : kind === FREE ? (hashed ? "free and cached" : "free and empty")
    : kind === OWN ? "used by one, ref_cnt 1" : `shared, ref_cnt ${refs.toLocaleString("en")}`;
  const moments = [[HIT, "just hit"], [LOST, "just lost its hash"], [BACK, "just came back to the queue"]];
  return [`block ${id}: ${what}`, moments.filter(([bit]) => word & bit).map(([, says]) => says).join(", ")];
}
