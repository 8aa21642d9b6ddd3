// Keeps the page as the service is. What comes from outside is text, and never markup.
"use strict";

const byId = (id) => document.getElementById(id);

function element(name, { className, text, ...attributes } = {}, children = []) {
  const made = document.createElement(name);
  if (className) made.className = className;
  if (text !== undefined) made.textContent = text;
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

// The look of each state; the word stands beside it, so that colour isn't all there is.
const looks = {
  open: "busy", "rolling back": "warn", confirmed: "good", failed: "bad", cancelled: "warn",
  stuck: "bad",
};
const signs = {
  done: "✓", executing: "●", retrying: "↻", failed: "✗", undone: "↶", waiting: "○",
};

// ——— Requests that change something

// Where the service needs a token, the operator gives it once for each tab.
async function send(path, method, { body, ...headers } = {}) {
  const request = () => {
    const token = sessionStorage.getItem("token");
    if (token) headers.Authorization = `Bearer ${token}`;
    if (body !== undefined) headers["Content-Type"] = "application/json";
    return fetch(path, { method, headers, body: body && JSON.stringify(body) });
  };
  const response = await request();
  if (response.status !== 401) return response;
  const token = prompt("The token of the service");
  if (!token) return response;
  sessionStorage.setItem("token", token);
  return request();
}

// ——— Orders

const rows = new Map();

function stepText(step) {
  const sign = signs[step.state] ?? "";
  const attempt = step.attempt ? ` ${step.attempt}` : "";
  return `${sign}${attempt} ${step.name}`.trim();
}

function rowContent(row) {
  const steps = row.steps.map((step) =>
    element("li", {
      className: step.state === "not run" ? "none" : step.state,
      title: `${step.name}: ${step.state}`,
    }, [
      element("span", { "aria-hidden": "true", text: stepText(step) }),
      element("span", { className: "hidden", text: `${step.name}: ${step.state}` }),
    ]));
  const accepted = new Date(row.accepted);
  const time = element("small", { text: accepted.toLocaleTimeString() });
  const why = [element("span", { className: `chip ${looks[row.state] ?? ""}`, text: row.state })];
  if (row.why) why.push(element("p", { text: row.why }));
  if (row.holder) why.push(element("p", { text: `on ${row.holder}` }));
  const actions = [];
  if (row.isOpen) {
    const label = `Cancel the order ${row.id}`;
    const button = element("button", { type: "button", text: "cancel", "aria-label": label });
    button.addEventListener("click", () => cancel(row.id, button));
    actions.push(button);
  } else {
    const link = element("a", { href: `/orders/${row.id}/timeline.svg`, text: "timeline" });
    link.setAttribute("aria-label", `Timeline of the order ${row.id}`);
    actions.push(link);
  }
  return [
    element("td", { className: "id" },
      [element("a", { href: `/orders/${row.id}/explain`, text: row.id }), time]),
    element("td", { className: "who", text: row.customer }),
    element("td", { className: "what", text: row.items }),
    element("td", { className: "steps-cell" },
      [element("ol", { className: "steps", "aria-label": "Steps" }, steps)]),
    element("td", { className: "why" }, why),
    element("td", {}, actions),
  ];
}

// Rows that haven't changed stay as they are, with the focus that is in them.
function showRows(list) {
  const body = byId("rows");
  for (const [id, known] of rows) {
    if (!list.some((row) => row.id === id)) { known.element.remove(); rows.delete(id); }
  }
  let previous = null;
  for (const row of list) {
    const text = JSON.stringify(row);
    let known = rows.get(row.id);
    if (!known) {
      known = { element: element("tr"), text: "" };
      rows.set(row.id, known);
    }
    if (known.text !== text) {
      const hasFocus = known.element.contains(document.activeElement);
      known.element.replaceChildren(...rowContent(row));
      if (hasFocus) known.element.querySelector("button, a")?.focus();
      known.text = text;
    }
    const place = previous ? previous.nextSibling : body.firstChild;
    if (place !== known.element) body.insertBefore(known.element, place);
    previous = known.element;
  }
  byId("empty").hidden = list.length > 0;
  byId("table").hidden = list.length === 0;
}

async function cancel(id, button) {
  button.disabled = true;
  await send(`/orders/${encodeURIComponent(id)}`, "DELETE");
}

// ——— What the service says

const circuits = {
  closed: ["good", "requests go through."],
  open: ["bad", "no request is made: it has failed too often, and gets a rest."],
  "half open": ["warn", "one request tries whether it works again."],
};

function setText(node, text) {
  if (node.textContent !== String(text)) node.textContent = text;
}

function show(state) {
  for (const name of ["open", "confirmed", "failed", "cancelled"]) {
    setText(byId(`count-${name}`), state.counts[name].toLocaleString());
  }
  // The first line has the numbers that stand above, the others a cause each.
  const causes = state.explanation.slice(1);
  const lines = causes.length ? causes : ["Nothing waits."];
  byId("explanation").replaceChildren(...lines.map((text) => element("li", { text })));
  const [look, text] = circuits[state.breaker] ?? ["", ""];
  setText(byId("breaker"), state.breaker);
  byId("breaker").className = `chip ${look}`;
  setText(byId("breaker-text"), text);
  isDraining = state.isDraining;
  showConnection(true);
  showRows(state.rows);
}

let isDraining = false;

function showConnection(isLive) {
  const chip = byId("connection");
  const text = !isLive ? "not connected, trying again" : isDraining ? "closing" : "live";
  setText(chip, text);
  chip.className = `chip ${!isLive ? "bad" : isDraining ? "warn" : "good"}`;
}

function listen() {
  const source = new EventSource("/live");
  source.addEventListener("state", (event) => show(JSON.parse(event.data)));
  source.addEventListener("open", () => { showConnection(true); readMood(); });
  source.addEventListener("error", () => {
    showConnection(false);
    // A browser comes back by itself, unless the server said that it needn't.
    if (source.readyState === EventSource.CLOSED) setTimeout(listen, 2000);
  });
}

// ——— Orders are placed

function newKey() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

async function placeOne(order) {
  const response = await send("/orders", "POST", { body: order, "Idempotency-Key": newKey() });
  if (response.ok) return null;
  const problem = await response.json();
  const mistakes = (problem.mistakes ?? []).map((mistake) => mistake.message);
  return mistakes.join(" ") || problem.detail;
}

async function place(event) {
  event.preventDefault();
  const form = event.target;
  const fields = new FormData(form);
  const count = Number(event.submitter?.value ?? 1);
  const order = {
    customer: fields.get("customer"),
    cardToken: fields.get("cardToken"),
    lines: [{ sku: fields.get("sku"), quantity: Number(fields.get("quantity")) }],
  };
  const result = byId("place-result");
  const buttons = form.querySelectorAll("button");
  for (const button of buttons) button.disabled = true;
  let [placed, problem] = [0, null];
  try {
    // Four at a time: a browser has six connections to a host, and one is for the live feed.
    const work = Array.from({ length: count });
    await Promise.all(Array.from({ length: 4 }, async () => {
      while (work.length && !problem) {
        work.pop();
        const answer = await placeOne(order);
        if (answer) problem = answer; else placed += 1;
      }
    }));
  } catch {
    problem = "The service doesn't answer.";
  }
  for (const button of buttons) button.disabled = false;
  const orders = placed === 1 ? "1 order was accepted." : `${placed} orders were accepted.`;
  result.textContent = problem ? `${placed ? orders + " " : ""}${problem}` : orders;
  result.classList.toggle("bad", problem !== null);
}

// ——— The provider's mood

let mood = {};

function isOn(button) {
  const value = mood[button.dataset.field];
  return value !== undefined && value !== null && ![0, false, "0ms"].includes(value);
}

function showMood() {
  for (const button of document.querySelectorAll("#moods button")) {
    button.setAttribute("aria-pressed", String(isOn(button)));
  }
}

async function readMood() {
  if (!byId("moods")) return;
  try {
    const response = await fetch("/provider/mood");
    if (response.ok) mood = await response.json();
    tellMood(response.ok ? "" : "The provider doesn't answer.");
  } catch {
    tellMood("The service doesn't answer.");
  }
  showMood();
}

function tellMood(problem, text = "") {
  const result = byId("mood-result");
  result.textContent = problem || text;
  result.classList.toggle("bad", problem !== "");
}

async function changeMood(button) {
  const { field, value } = button.dataset;
  const next = { ...mood };
  if (isOn(button)) delete next[field];
  else next[field] = field === "slow" ? value : JSON.parse(value);
  try {
    const response = await send("/provider/mood", "POST", { body: next });
    const answer = await response.json();
    if (response.ok) mood = answer;
    tellMood(response.ok ? "" : answer.detail, "The provider has changed.");
  } catch {
    tellMood("The provider doesn't answer.");
  }
  showMood();
}

// ——— Begin

show(JSON.parse(document.body.dataset.state));
showConnection(false);
setText(byId("connection"), "connecting");
byId("place").addEventListener("submit", place);
for (const button of document.querySelectorAll("#moods button")) {
  button.addEventListener("click", () => changeMood(button));
}
listen();
