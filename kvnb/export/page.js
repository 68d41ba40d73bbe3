// Draws each figure when it comes into view; until then, without JavaScript, and on paper its still form stands there.
(() => {
  const figures = JSON.parse(document.getElementById("kv-figures").textContent);
  const draw = (place) => {
    const { data, layout, config } = figures[place.dataset.figure];
    Plotly.newPlot(place, data, layout, config).then(() => place.parentElement.classList.add("kv-drawn"));
  };
  const seen = new IntersectionObserver((entries) => {
    for (const { isIntersecting, target } of entries) {
      if (isIntersecting) {
        seen.unobserve(target);
        draw(target);
      }
    }
  }, { rootMargin: "400px" });
  for (const place of document.querySelectorAll(".kv-plot")) seen.observe(place);
})();
