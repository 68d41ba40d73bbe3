// The two functions that anywidget calls, for a widget and for each view of it.
// Must not know: either picture.

const kinds = { map: blockMap, queue: queueStrip, board };

function render({ model, el, signal }) {
  el.classList.add("kvnb-canvas");
  const host = make("div", { position: "relative", maxWidth: "900px", minWidth: 0 }, undefined, el);
  kinds[model.get("view")](model, host, signal);
}

// A widget of an output has no view: it looks for the place that the output left for it.
function initialize({ model, signal }) {
  if (model.get("view") !== "board") signal.addEventListener("abort", () => forget(model));
  if (model.get("view") === "board") placeBoard(boardStore(model, signal), signal, render);
  else if (model.get("place")) fillPlaces(model, signal, render);
}

// A page keeps the models of closed widgets, so they give up what they hold: twice, for they keep the value before too.
function forget(model) {
  for (const size of [0, 1]) { model.set("frame", new DataView(new ArrayBuffer(size))); model.set("code", " ".repeat(size)); }
}

export { initialize, render };
