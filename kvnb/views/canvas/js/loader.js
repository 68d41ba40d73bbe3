// The module that anywidget imports for each widget: a few lines, for a page never forgets a module that it imported.
// The canvases' own code comes in a trait and is imported once a page for each version of it.
// Must not know: anything of the pictures.

const KEY = Symbol.for("kvnb.canvas.VERSION");
const load = (model) => (globalThis[KEY] ??= import(
  URL.createObjectURL(new Blob([model.get("code")], { type: "text/javascript" }))
));

export default {
  async initialize(given) { (await load(given.model)).initialize(given); },
  async render(given) { (await load(given.model)).render(given); },
};
