// Keeps the live part of a page up to date and listens to the keyboard. Every page works without it.
"use strict";

const live = document.getElementById("live");
const pause = document.getElementById("pause");
const trouble = document.getElementById("trouble");
const keyboard = document.getElementById("keyboard");

// The live part: the page's own address, asked for as a stream, sends it again each time that it has changed.

let stream = null;
let isPaused = false;

function follow() {
  if (!live || stream || isPaused || document.hidden) return;
  stream = new EventSource(location.pathname + location.search);
  stream.addEventListener("live", (event) => {
    const sent = new DOMParser().parseFromString(event.data, "text/html").body;
    become(live, sent);
    tell("");
    grey(false);
    show("live");
  });
  stream.addEventListener("trouble", (event) => tell(event.data));
  // The numbers are those of before: they stay, but nobody takes them for those of now.
  stream.addEventListener("away", (event) => {
    tell(event.data);
    grey(true);
    show("store away");
  });
  stream.onopen = () => show("live");
  stream.onerror = () => {
    grey(true);
    show("waiting");
  };
}

function grey(isOld) {
  live.classList.toggle("stale", isOld);
  live.setAttribute("aria-busy", String(isOld));
}

function leave() {
  if (stream) stream.close();
  stream = null;
}

function tell(text) {
  trouble.textContent = text;
  trouble.hidden = text === "";
}

function show(state) {
  pause.dataset.state = state;
  pause.querySelector(".word").textContent = state;
  pause.setAttribute("aria-pressed", String(isPaused));
}

// Makes a tree the same as another by changing only what differs, so that focus, selection and scrolling stay.
function become(node, wanted) {
  const children = [...node.childNodes];
  const others = [...wanted.childNodes];
  others.forEach((other, i) => {
    const child = children[i];
    if (!child) node.append(document.importNode(other, true));
    else if (child.nodeType !== other.nodeType || child.nodeName !== other.nodeName) child.replaceWith(document.importNode(other, true));
    else if (child.nodeType === Node.ELEMENT_NODE) {
      takeAttributes(child, other);
      become(child, other);
    } else if (child.nodeValue !== other.nodeValue) child.nodeValue = other.nodeValue;
  });
  children.slice(others.length).forEach((child) => child.remove());
}

function takeAttributes(node, wanted) {
  for (const { name } of [...node.attributes]) {
    // Whether a detail is open is the reader's affair, and so is what is chosen by the keyboard.
    if (!wanted.hasAttribute(name) && name !== "open" && name !== "data-chosen") node.removeAttribute(name);
  }
  for (const { name, value } of [...wanted.attributes]) {
    // As above.
    if (name === "open") continue;
    // The button that says no is there for whoever has a script.
    if (name === "hidden" && node.hasAttribute("data-no")) continue;
    if (node.getAttribute(name) !== value) node.setAttribute(name, value);
  }
}

function toggle() {
  isPaused = !isPaused;
  if (isPaused) {
    leave();
    show("paused");
  } else follow();
}

if (live) {
  pause.hidden = false;
  pause.addEventListener("click", toggle);
  show("waiting");
  // A page that nobody sees needs no stream, and browsers allow only a few at once.
  document.addEventListener("visibilitychange", () => (document.hidden ? leave() : follow()));
  // A page that is kept for the way back must not hold its stream open.
  addEventListener("pagehide", leave);
  addEventListener("pageshow", follow);
  follow();
}

// Parts that change slowly are asked for once in a while, not followed.

for (const part of document.querySelectorAll("[data-reload]")) {
  setInterval(async () => {
    if (isPaused || document.hidden) return;
    const answer = await fetch(location.pathname + location.search, { headers: { accept: "text/html" } }).catch(() => null);
    if (!answer?.ok) return;
    const sent = new DOMParser().parseFromString(await answer.text(), "text/html").getElementById(part.id);
    if (sent) become(part, sent);
  }, 1000 * part.dataset.reload);
}

// Times are shown in the zone of whoever looks, from the next page on.

const zone = encodeURIComponent(Intl.DateTimeFormat().resolvedOptions().timeZone);
if (!document.cookie.split("; ").includes(`keyrack_zone=${zone}`)) {
  document.cookie = `keyrack_zone=${zone}; path=/; max-age=31536000; samesite=lax`;
}

// On a phone the way to other pages is longer than the screen is wide.
document.querySelector("header nav [aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" });

// A question that has opened: who presses Enter without looking says no.

for (const no of document.querySelectorAll("[data-no]")) no.hidden = false;
document.addEventListener("toggle", (event) => {
  const no = event.target.open && event.target.querySelector("[data-no]");
  if (!no) return;
  no.hidden = false;
  no.focus();
}, true);
document.addEventListener("click", (event) => {
  const asked = event.target.closest("[data-no]")?.closest("details");
  if (!asked) return;
  asked.open = false;
  asked.querySelector("summary").focus();
});

// The box above rows with boxes ticks them all.

const rowBoxes = () => document.querySelectorAll("main tbody input[name=jid]");
const everyRow = document.getElementById("every-row");
if (everyRow) {
  everyRow.hidden = false;
  everyRow.addEventListener("change", () => {
    for (const box of rowBoxes()) box.checked = everyRow.checked;
  });
}

// The keyboard.

const help = document.getElementById("help");
help.hidden = false;
help.addEventListener("click", () => keyboard.showModal());

let isGoing = false;
let row = -1;

function move(step) {
  const rows = [...document.querySelectorAll("main [data-row]")];
  if (rows.length === 0) return;
  row = Math.max(0, Math.min(rows.length - 1, row + step));
  rows[row].focus();
  rows[row].scrollIntoView({ block: "nearest" });
}

function press(key) {
  const target = document.querySelector(`[data-key="${CSS.escape(key)}"]`);
  if (target) target.click();
  return target;
}

const keys = {
  "?": () => keyboard.showModal(),
  "/": () => {
    const search = document.querySelector("main input[type=search]");
    if (search) search.focus();
    else location.href = "/find";
  },
  // Only for those who may: the list of keys has it then.
  n: () => keyboard.querySelector("[data-new]") && (location.href = "/submit"),
  p: () => live && toggle(),
  x: () => document.activeElement.closest("tr")?.querySelector("input[name=jid]")?.click(),
  j: () => move(1),
  k: () => move(-1),
  g: () => (isGoing = true),
};

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const at = event.target;
  // A dialog that was just closed keeps the focus until the page is drawn again.
  if (at.closest("input, textarea, select, dialog[open]")) {
    if (event.key === "Escape" && !at.closest("dialog")) at.blur();
    return;
  }
  if (isGoing) {
    isGoing = false;
    const link = document.querySelector(`[data-go="${CSS.escape(event.key)}"]`);
    if (link) {
      event.preventDefault();
      link.click();
    }
    return;
  }
  const action = keys[event.key];
  if (action) {
    event.preventDefault();
    action();
  } else if (press(event.key)) event.preventDefault();
});
