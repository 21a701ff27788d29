// The search of the site, which needs no server: MiniSearch over the words in search_words.js.
"use strict";

const MOST = 60;
const MOST_OF_A_PAGE = 3;
const AROUND = 90;
const LONGEST = 260;

// A name is found by its words too: causal_mask, attention.causal; dₖ as d_k, and x² as x^2.
const typed = (text) => text.replace(/[\p{Lm}\p{No}]+/gu, (script) => ` ${script.normalize("NFKC")}`);
const parts = (text) => typed(text).toLowerCase().match(/[\p{L}\p{N}√∞]+/gu) || [];
const plain = (text) => parts(text).join(" ");

function index() {
  const search = new MiniSearch({
    fields: ["heading", "title", "text"],
    storeFields: ["place", "title", "heading", "text", "name"],
    tokenize: parts,
    processTerm: (term) => term,
  });
  search.addAll(SEARCHED.map(([place, title, heading, text], id) => (
    { id, place, title, heading, text, name: plain(heading || title) })));
  return search;
}

// The page or the section that is called as was asked comes first, then those that have it in their names.
function closeness(asked, entry) {
  const wanted = asked.split(" ");
  const whole = entry.heading ? 1 : 2;
  if (entry.name === asked) return 200 * whole;
  const own = entry.name.split(" ");
  if (entry.name.startsWith(asked + " ") || entry.name.endsWith(" " + asked)) return 20 * whole;
  if (wanted.every((word) => own.includes(word))) return 8 * whole;
  if (wanted.every((word) => own.some((one) => one.startsWith(word)))) return 4 * whole;
  return entry.heading ? 1 : 1.5;
}

function found(search, query) {
  const asked = plain(query);
  const given = { fields: ["heading", "title", "text"], prefix: (term) => term.length > 2,
    boost: { heading: 4, title: 3 }, boostDocument: (_id, _term, entry) => closeness(asked, entry) };
  const all = search.search(query, { ...given, combineWith: "AND" });
  const results = all.length ? all
    : search.search(query, { ...given, fuzzy: (term) => (term.length > 4 ? 0.2 : false) });
  const shown = {};
  return results.filter((one) => {
    const page = one.place.split("#")[0];
    shown[page] = (shown[page] || 0) + 1;
    return shown[page] <= MOST_OF_A_PAGE;
  });
}

// The words around the first place where most of those that were asked for are near each other.
function excerpt(text, terms) {
  const lower = text.toLowerCase();
  const places = terms.flatMap((term) => {
    const at = [];
    for (let place = lower.indexOf(term); place >= 0 && at.length < 50; place = lower.indexOf(term, place + 1)) {
      at.push(place);
    }
    return at.map((place) => [place, term]);
  }).sort((one, other) => one[0] - other[0]);
  let best = 0;
  let most = 0;
  places.forEach(([place]) => {
    const near = new Set(places.filter(([other]) => other >= place && other < place + AROUND).map((pair) => pair[1]));
    if (near.size > most) { best = place; most = near.size; }
  });
  let begin = best <= AROUND ? 0 : lower.lastIndexOf(" ", best - AROUND / 2) + 1;
  const end = text.length - begin <= LONGEST ? text.length : text.lastIndexOf(" ", begin + LONGEST);
  return (begin ? "… " : "") + text.slice(begin, end) + (end < text.length ? " …" : "");
}

function marked(text, terms) {
  const paragraph = document.createElement("p");
  const sought = terms.map((term) => term.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")).join("|");
  text.split(sought ? new RegExp(`(${sought})`, "giu") : /$^/).forEach((part, place) => {
    paragraph.append(place % 2 ? Object.assign(document.createElement("mark"), { textContent: part }) : part);
  });
  return paragraph;
}

function entry(one) {
  const item = document.createElement("li");
  const link = Object.assign(document.createElement("a"), { href: one.place, textContent: one.heading || one.title });
  item.append(link);
  if (one.heading) item.append(Object.assign(document.createElement("span"), { textContent: ` in ${one.title}` }));
  item.append(marked(excerpt(one.text, one.terms), one.terms));
  return item;
}

function show(query) {
  const place = document.getElementById("search-results");
  document.querySelectorAll("input[name=q]").forEach((box) => { box.value = query; });
  if (!plain(query)) {
    place.textContent = "Write in the box what you look for, such as causal mask or scale_missing.";
    return;
  }
  const results = found(index(), query);
  const said = document.createElement("p");
  said.setAttribute("role", "status");
  said.textContent = results.length ? `${results.length} found for “${query}”`
    + (results.length > MOST ? `; the first ${MOST}:` : ":") : `Nothing was found for “${query}”.`;
  const list = document.createElement("ol");
  list.className = "search";
  list.append(...results.slice(0, MOST).map(entry));
  place.replaceChildren(said, list);
}

document.addEventListener("DOMContentLoaded", () => show(new URLSearchParams(location.search).get("q") || ""));
