// What a page knows of a dashboard: the frames of the blocks added up, the news of the last message.
// Must not know: how any of it is drawn.

const BOARDS = Symbol.for("kvnb.boards");
const boards = () => (globalThis[BOARDS] ??= new Map());

// The one store of a board on this page; it lives as long as its widget.
function boardStore(model, signal) {
  const told = new EventTarget();
  let frame = null, seq = -1, asked = false;
  const store = {
    model, signal, alive: true, places: new Map(),
    get frame() { return frame; },
    get news() { return model.get("facts"); },
    // `what`: "news" (a message came), "pool", "figure", "clicks", "gone"
    on(what, does, signal) { told.addEventListener(what, does, { signal }); },
  };
  const tell = (what) => told.dispatchEvent(new Event(what));
  const hello = () => { if (!asked) { asked = true; try { model.send({ hello: 1 }); } catch { /* the kernel is gone */ } } };

  function take() {
    const facts = model.get("facts"), bytes = model.get("blocks");
    if (facts.seq === seq || bytes.byteLength < 16) return;
    const change = readBlocks(bytes);
    if (change.ids === null) { frame = change; asked = false; }
    else if (frame && change.seq === seq + 1 && change.size === frame.size) frame = patched(frame, change);
    else return hello();
    seq = change.seq;
    tell("news");
  }
  const names = [["facts", take], ["pool", () => { seq = -1; frame = null; take(); tell("pool"); }]];
  for (const name of ["figure", "clicks", "place"]) names.push([name, () => tell(name)]);
  for (const [name, does] of names) model.on(`change:${name}`, does);
  // A kernel that is restarted knows nothing of what it drew.
  const watched = (own) => model.on("comm_live_update", () => { if (!own.comm_live) end(); });
  model.widget_manager.get_model(model.get("me")).then(watched, () => {});
  const end = () => { store.alive = false; tell("gone"); };
  signal.addEventListener("abort", () => {
    end();
    for (const [name, does] of names) model.off(`change:${name}`, does);
    boards().delete(model.get("me"));
    for (const size of [0, 1]) { for (const name of ["blocks", "queue"]) model.set(name, new DataView(new ArrayBuffer(size))); }
    for (const filler of [" ", ""]) { model.set("figure", filler); model.set("code", filler); }
  });
  boards().set(model.get("me"), store);
  take();
  return store;
}

// Words are absolute, so a change is laid over what was there; what was derived of the old frame is not taken along.
function patched({ size, words, refs }, { seq, ids, words: to, refs: toRefs }) {
  ids.forEach((id, i) => {
    words[id] = to[i];
    if (toRefs.has(i)) refs.set(id, toRefs.get(i)); else refs.delete(id);
  });
  return { seq, size, ids: null, words, refs };
}

// A store as a picture sees a widget of its own: a frame, colours, names; what it says goes to the kernel.
function pictureModel(store, frame) {
  const { model } = store, stops = new Map();
  const own = { frame, owners: () => store.news.owners };
  return {
    get: (name) => (own[name] ?? (() => model.get(name)))(),
    on(what, does) {
      if (what !== "change:frame") return model.on(what, does);
      const stop = new AbortController();
      stops.set(does, stop);
      store.on("news", does, stop.signal);
    },
    off(what, does) { if (what === "change:frame") stops.get(does)?.abort(); else model.off(what, does); },
    send: (message) => model.send(message),
    // From the moment that the kernel began with this news, in milliseconds of the clock that both may have.
    painted(canvas) { canvas.dataset.latency = (Date.now() - 1000 * store.news.stamp).toFixed(1); },
  };
}
