/**
 * The script of the page. Every value is set as text, never as HTML. The secret of the link is in the fragment, which is
 * not sent, and leaves the address bar at once.
 */
export const startScript = `const main = document.getElementById("main");
const who = document.getElementById("who");

function element(name, options = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(options)) made[key] = value;
  made.append(...children);
  return made;
}

async function get(path) {
  const response = await fetch(path);
  const body = await response.json().catch(() => ({}));
  if (!response.ok) throw new Error(body.detail ?? "the server answered " + response.status);
  return body;
}

async function post(path, fields) {
  const { csrf } = await get("/v1/csrf");
  const headers = { "content-type": "application/json", "x-writ-csrf": csrf };
  const response = await fetch(path, { method: "POST", headers, body: JSON.stringify(fields) });
  if (!response.ok) throw new Error((await response.json()).detail);
}

const state = (text) => element("span", { className: "state " + text.split("_")[0], textContent: text.replaceAll("_", " ") });
const soft = (text) => element("span", { className: "soft", textContent: text });
const time = (at) => element("time", { className: "soft", dateTime: new Date(at).toISOString(), textContent: new Date(at).toLocaleString() });
const shown = (value) => JSON.stringify(value, null, 2).replace(/[\\u0000-\\u0009\\u000b-\\u001f\\u007f-\\u009f\\u00ad\\u200b-\\u200f\\u2028-\\u202e\\u2060-\\u206f\\ufeff]/g, (hidden) => "\\\\u" + hidden.charCodeAt(0).toString(16).padStart(4, "0"));

function list(title, items, row, empty) {
  main.append(element("h2", { textContent: title }));
  if (items.length === 0) main.append(element("p", { className: "empty", textContent: empty }));
  else main.append(element("ul", {}, ...items.map((item) => element("li", {}, ...row(item)))));
}

async function showInbox() {
  const [gates, doubts, runs] = await Promise.all([get("/v1/gates?status=open&limit=20"), get("/v1/in-doubt?limit=20"), get("/v1/runs?limit=20")]);
  main.append(element("h1", { textContent: "Waiting for you" }));
  list("Held calls", gates.items, (gate) => [
    element("a", { href: "/gates/" + encodeURIComponent(gate.gate_id), textContent: gate.tool ?? gate.gate_id }), soft(gate.reason ?? ""),
  ], "No call waits for a person. A held call appears here with its input and the reason.");
  list("Acts in doubt", doubts.items, (doubt) => [
    element("a", { href: "/runs/" + encodeURIComponent(doubt.run_id) + "?step=" + encodeURIComponent(doubt.step_id), textContent: doubt.tool ?? doubt.step_id }), soft(doubt.fault?.message ?? ""),
  ], "No act is in doubt.");
  list("Latest runs", runs.items, (run) => [
    element("a", { href: "/runs/" + encodeURIComponent(run.run_id), textContent: run.title ?? run.plan_id ?? run.run_id }), state(run.status), time(run.accepted_at), soft(run.principal),
  ], "There is no run yet. Submit one with: writ run plan.json");
}

async function showGate(id) {
  const gate = await get("/v1/gates/" + encodeURIComponent(id));
  main.append(element("h1", { textContent: gate.tool }), element("p", {}, state(gate.status), " ", soft(gate.reason)));
  main.append(element("p", {}, "Run ", element("a", { href: "/runs/" + encodeURIComponent(gate.run_id), textContent: gate.run_id }), soft(" requested by " + gate.requester)));
  main.append(element("h2", { textContent: "The exact call" }), element("pre", { tabIndex: 0, textContent: shown(gate.input) }));
  if (gate.preview) main.append(element("h2", { textContent: "Expected changes" }), element("pre", { tabIndex: 0, textContent: shown(gate.preview) }));
  if (gate.status !== "open") return;
  const reason = element("input", { name: "reason", autocomplete: "off", maxLength: 1000 });
  const problem = element("p", { role: "alert", className: "soft" });
  const decide = (verb) => async () => {
    try {
      await post("/v1/gates/" + encodeURIComponent(id) + "/" + verb, { digest: gate.digest, reason: reason.value });
      location.reload();
    } catch (error) { problem.textContent = error.message; }
  };
  const form = element("form", {}, element("label", {}, "Reason, for the record", reason),
    element("button", { type: "button", textContent: "Approve", onclick: decide("approve") }),
    element("button", { type: "button", className: "danger", textContent: "Reject", onclick: decide("reject") }));
  form.addEventListener("submit", (event) => event.preventDefault());
  main.append(form, problem);
}

async function showRun(id) {
  const run = await get("/v1/runs/" + encodeURIComponent(id));
  const step = new URLSearchParams(location.search).get("step");
  main.append(element("h1", { textContent: run.plan_id ?? run.run_id }), element("p", {}, state(run.status), " ", soft(run.run_id)));
  list("Steps", Object.entries(run.steps), ([name, each]) => [
    element("span", { textContent: (name === step ? "→ " : "") + name }), state(each.state),
    each.gate_id ? element("a", { href: "/gates/" + encodeURIComponent(each.gate_id), textContent: "decide" }) : soft(each.fault?.message ?? ""),
  ], "The run has no step yet.");
}

const link = new URLSearchParams(location.hash.slice(1)).get("link");
if (link !== null) {
  history.replaceState(null, "", location.pathname + location.search);
  await fetch("/v1/login", { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify({ link }) });
}
try {
  const { principal } = await get("/v1/whoami");
  who.textContent = principal.id + " of tenant " + principal.tenant;
  const [, kind, id] = location.pathname.split("/").map(decodeURIComponent);
  await (kind === "gates" ? showGate(id) : kind === "runs" ? showRun(id) : showInbox());
} catch (error) {
  const isLoggedIn = !who.textContent.startsWith("Logging");
  if (!isLoggedIn) who.textContent = "Not logged in";
  const advice = isLoggedIn ? "" : "A link logs one browser in, once, within ten minutes. Start writ serve again for a new one.";
  main.replaceChildren(element("h1", { textContent: isLoggedIn ? "Nothing to show" : "Log in" }),
    element("p", { role: "alert", textContent: error.message }), element("p", { className: "soft", textContent: advice }));
}
`;
