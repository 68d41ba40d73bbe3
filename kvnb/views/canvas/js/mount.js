// Other widgets inside a board, and a board inside an output: what JupyterLab itself would attach, attached by hand.
// Must not know: what the widgets are.

// The view of another widget of the kernel. There is one a page, which moves to where the board is drawn: a page keeps
// something of every view, and a board is drawn again and again. Meanwhile it waits on the page, unseen.
function mounted(store, id, host, signal) {
  const { places } = store, place = places.get(id) ?? make("div", { minHeight: "32px" });
  host.append(place);
  if (!places.has(id)) { places.set(id, place); viewed(store, id, place); }
  signal.addEventListener("abort", () => { if (places.get(id) === place) unseen().append(place); });
}

const UNSEEN = "kvnb-unseen";
function unseen() {
  const found = document.querySelector(`.${UNSEEN}`) ?? make("div", { display: "none" }, undefined, document.body);
  found.className = UNSEEN;
  return found;
}

async function viewed(store, id, place) {
  place.className = "kvnb-mounted";
  const model = await modelOf(store.model.widget_manager, id, store.signal);
  const view = model && await store.model.widget_manager.create_view(model);
  if (!view) return;
  // A box gets what it holds a little later, tells it its size after that, and complains if it is gone by then; and Lumino
  // takes leave only of what is on the page.
  const leave = async () => {
    store.places.delete(id);
    unseen().append(place);
    await Promise.allSettled(view.children_views?.views ?? []);
    await new Promise((done) => setTimeout(done, 200));
    if (!view.luminoWidget?.isDisposed) { view.luminoWidget?.dispose(); view.remove(); }
    place.remove();
  };
  if (store.signal.aborted) return leave();
  attach(view, place);
  store.signal.addEventListener("abort", leave);
}

// After a reload of the page all widgets are made again, in no order.
async function modelOf(manager, id, signal) {
  for (let tries = 0; tries < 50 && !signal.aborted; tries++) {
    try { return await manager.get_model(id); } catch { await new Promise((done) => setTimeout(done, 100)); }
  }
  return null;
}

// Lumino's own `attach` tells a widget and all that is in it that they are on a page now.
function attach(view, place) {
  const widget = view.luminoWidget;
  if (widget?.constructor.attach) widget.constructor.attach(widget, place);
  else place.append(view.el);
}

// A board in the output that has its mark: in the newest one only, the others show what they showed when they were made.
function placeBoard(store, signal, render) {
  const { model } = store;
  let now = null, end = null;
  const leave = () => { end?.(); now = end = null; };
  const look = () => {
    const id = model.get("place"), query = `[data-kvnb-place="${CSS.escape(id)}"]`;
    const found = id && store.alive ? document.querySelector(query) : null;
    if (found === now) return;
    leave();
    if (found) { now = found; end = fill(found, model, render); }
  };
  const has = (node) => node.nodeType === 1 && (node.matches("[data-kvnb-place]") || node.querySelector("[data-kvnb-place]"));
  const watch = new MutationObserver((records) => {
    if ((now && !now.isConnected) || records.some(({ addedNodes }) => [...addedNodes].some(has))) look();
  });
  watch.observe(document.body, { childList: true, subtree: true });
  store.on("place", look, signal);
  store.on("gone", leave, signal);
  signal.addEventListener("abort", () => { watch.disconnect(); leave(); });
  look();
}
