"use strict";
(function () {
  // Everything is on the page without this script, which only hides and copies.
  document.querySelectorAll("button[data-copy]").forEach(function (button) {
    button.hidden = false;
    button.addEventListener("click", function () {
      const code = button.parentElement.querySelector("code");
      const selection = window.getSelection();
      selection.selectAllChildren(code);
      const done = navigator.clipboard ? navigator.clipboard.writeText(code.textContent) : Promise.reject();
      done.catch(function () { document.execCommand("copy"); }).then(function () {
        selection.removeAllRanges();
        button.textContent = "Copied";
      });
    });
  });
  const filters = document.getElementById("filters");
  const names = ["law", "operation", "status", "mistake"];
  const marked = names.map(function (name) { return "[data-" + name + "]"; }).join(",");
  function read() {
    const hash = location.hash.slice(1);
    return new URLSearchParams(hash.includes("=") ? hash : "");
  }
  function fits(element, wanted) {
    return names.every(function (name) {
      const value = wanted.get(name);
      if (!value) { return true; }
      const holder = element.closest("[data-" + name + "]");
      if (name === "law") { return (holder ? holder.dataset.law : element.textContent).includes(value); }
      return Boolean(holder) && holder.dataset[name].split(" ").includes(value);
    });
  }
  function show() {
    const wanted = read();
    const asked = names.some(function (name) { return wanted.get(name); });
    let shown = 0;
    document.querySelectorAll("main article, main details, main .laws").forEach(function (element) {
      if (!element.matches(marked)) { return; }
      const out = !fits(element, wanted);
      element.toggleAttribute("data-out", out);
      if (!out && element.matches("article")) { shown += 1; }
      if (asked && !out && element.matches("details")) { element.open = true; }
    });
    document.querySelectorAll(".laws > li").forEach(function (item) {
      item.toggleAttribute("data-out", Boolean(wanted.get("law")) && !item.textContent.includes(wanted.get("law")));
    });
    if (!filters) { return; }
    filters.querySelectorAll("[data-filter]").forEach(function (field) {
      if (document.activeElement !== field) { field.value = wanted.get(field.dataset.filter) || ""; }
    });
    filters.querySelector("output").textContent = asked ? shown + (shown === 1 ? " card" : " cards") + " shown" : "";
  }
  if (filters) {
    filters.hidden = false;
    filters.addEventListener("input", function () {
      const wanted = new URLSearchParams();
      filters.querySelectorAll("[data-filter]").forEach(function (field) {
        if (field.value) { wanted.set(field.dataset.filter, field.value); }
      });
      history.replaceState(null, "", "#" + wanted);
      show();
    });
    filters.querySelector("[data-clear]").addEventListener("click", function (event) {
      event.preventDefault();
      history.replaceState(null, "", location.pathname + location.search);
      document.activeElement.blur();
      show();
    });
  }
  function open() {
    const target = location.hash.length > 1 && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    for (let at = target || null; at; at = at.parentElement) { if (at.tagName === "DETAILS") { at.open = true; } }
    show();
  }
  addEventListener("hashchange", open);
  open();
}());
