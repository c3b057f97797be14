// Ctrl-K: finds pages and actions of this page at once, and queues, jobs and keys by asking the server.
"use strict";

const palette = document.getElementById("palette");
const opener = document.getElementById("open-palette");

if (palette) {
  const input = palette.querySelector("input");
  const list = document.getElementById("palette-list");
  const status = palette.querySelector("[role=status]");
  let chosen = 0;
  let asked = 0;

  // Pages, what can be done anywhere, and the buttons of this page.
  const known = () => {
    const links = [...document.querySelectorAll("header nav a"), ...document.getElementById("palette-known").content.querySelectorAll("a")];
    const pages = links.map((link) => ({ kind: link.dataset.kind ?? "page", name: link.textContent, link: link.getAttribute("href") }));
    const buttons = [...document.querySelectorAll("main .head button, main .head a.button, main .head summary, #pause, [data-key=t]")].filter((button) => button.offsetParent !== null && !button.closest("details form"));
    return pages.concat(buttons.map((button) => ({ kind: "action", name: button.matches("#pause, [data-key=t]") ? button.title : button.textContent.trim(), button })));
  };

  // What stood above stays above, so that what was chosen stays chosen.
  const show = (items, at = 0) => {
    list.replaceChildren(...items.map(({ kind, name }, at) => {
      const item = document.createElement("li");
      item.id = `palette-${at}`;
      item.setAttribute("role", "option");
      const word = document.createElement("small");
      word.textContent = kind;
      item.append(name, " ", word);
      return item;
    }));
    list.items = items;
    choose(at);
  };

  const choose = (at) => {
    const items = [...list.children];
    chosen = Math.max(0, Math.min(items.length - 1, at));
    items.forEach((item, i) => item.setAttribute("aria-selected", String(i === chosen)));
    if (items[chosen]) {
      input.setAttribute("aria-activedescendant", items[chosen].id);
      items[chosen].scrollIntoView({ block: "nearest" });
    } else input.removeAttribute("aria-activedescendant");
  };

  const find = async () => {
    const typed = input.value.trim();
    const mine = ++asked;
    const here = known().filter(({ name }) => name.toLowerCase().includes(typed.toLowerCase()));
    status.textContent = "";
    show(here);
    if (typed === "") return;
    const answer = await fetch(`/palette?text=${encodeURIComponent(typed)}`, { headers: { accept: "application/json" } }).catch(() => null);
    const found = answer?.ok ? await answer.json().catch(() => null) : null;
    // A later letter has asked again.
    if (mine !== asked) return;
    if (found) show(here.concat(found), chosen);
    status.textContent = !found ? "Queues, jobs and keys cannot be looked up now." : list.children.length === 0 ? "Nothing is called that." : "";
  };

  const go = (at) => {
    const item = list.items?.[at];
    if (!item) return;
    palette.close();
    if (item.button) item.button.click();
    else location.href = item.link;
  };

  const open = () => {
    if (palette.open) return;
    input.value = "";
    palette.showModal();
    input.focus();
    find();
  };

  input.addEventListener("input", find);
  input.addEventListener("keydown", (event) => {
    const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: 8, PageUp: -8 };
    if (steps[event.key]) choose(chosen + steps[event.key]);
    else if (event.key === "Enter") go(chosen);
    // By itself it empties the field first.
    else if (event.key === "Escape") palette.close();
    else return;
    event.preventDefault();
  });
  list.addEventListener("click", (event) => {
    const item = event.target.closest("li");
    if (item) go([...list.children].indexOf(item));
  });
  document.addEventListener("keydown", (event) => {
    if ((event.ctrlKey || event.metaKey) && !event.altKey && event.key.toLowerCase() === "k") {
      event.preventDefault();
      open();
    }
  });
  opener.hidden = false;
  opener.addEventListener("click", open);
}
