// What anywidget is given. Must not know: either picture.

const kinds = { map: blockMap, queue: queueStrip };

function render({ model, el, signal }) {
  el.classList.add("kvnb-canvas");
  const host = make("div", { position: "relative", maxWidth: "900px", minWidth: 0 }, undefined, el);
  kinds[model.get("view")](model, host, signal);
}

// A widget of an output has no view: it looks for the place that the output left for it.
function initialize({ model, signal }) {
  if (model.get("place")) fillPlaces(model, signal, render);
}

export default { initialize, render };
