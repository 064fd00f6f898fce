import type { RunHandle } from "../../src/engine/api/engine-api.ts";
import type { RouteWorld } from "./route-world.ts";

const plan = (name: string) => ({ steps: [{ step_id: "a", name, payload: { word: "hello" } }] });
const project = "site";
const policy = (name: string) => ({ schema_version: "1.0", name, scope: { tenant: "acme" }, rules: [] });
const written = { id: "1", tool: "note.write", input: { word: "hello" } };
const request = { model: "m", messages: [{ role: "user", content: "hello" }] };

/** Returns a run of a tool in the project that goes no further by itself. */
async function rested({ agent }: RouteWorld, tool: string): Promise<RunHandle> {
  const run = await agent.submit(plan(tool), { project });
  await run.result();
  return run;
}

async function gateOf(world: RouteWorld): Promise<string> {
  const { gates } = await (await rested(world, "mail.send")).result();
  return gates[0]?.gate_id ?? "";
}

const checkpoint = ({ run_id }: RunHandle, side: "before" | "after") => ({ runId: run_id, stepId: "a", side });
const schedule = ({ person }: RouteWorld) => person.schedules.set("daily", plan("note.write"), { cron: "0 9 * * *" });

/** The client has no value of its own for the route, or one of another form. */
const noValue = "no value of the client";

/** Uses of every route that the server answers. Each returns what the typed client returned. */
export const routeUses: Readonly<Record<string, (world: RouteWorld) => Promise<unknown>>> = {
  submit: async ({ agent }) => {
    await agent.submit(plan("note.write"), { requestKey: "k" });
    return agent.submit(plan("note.write"), { requestKey: "k" });
  },
  runs: async (world) => {
    await rested(world, "mail.send");
    return world.agent.runs({ count: true });
  },
  call: ({ agent }) => agent.call("note.write", { word: "hello" }, { project }),
  "run.now": async (world) => (await rested(world, "mail.send")).now(),
  "run.result": async (world) => {
    const { run_id } = await world.agent.submit(plan("page.wait"));
    await world.caller.call("run.result", { run_id, wait_ms: 0 });
    world.continuePages();
    return (await world.agent.run(run_id)).result();
  },
  "run.finished": async (world) => {
    const run = await rested(world, "mail.send");
    await world.caller.call("run.finished", { run_id: run.run_id, wait_ms: 0 });
    await run.cancel();
    return run.finished();
  },
  "run.events": async (world) => {
    for await (const _ of (await rested(world, "note.write")).events());
    return noValue;
  },
  "run.transcript": async (world) => (await rested(world, "mail.lose")).transcript(),
  "run.changes": async (world) => (await rested(world, "note.write")).changes(),
  "run.replay": async (world) => (await rested(world, "note.write")).replay(),
  "run.turns": async ({ agent }) => {
    const session = await agent.openRun({ session: "chat" });
    await session.recordModelCall(request, async () => ({ role: "assistant", content: "hi" }));
    await session.callTool(written);
    return (await agent.run(session.run_id)).turns();
  },
  "run.blob": async (world) => {
    const { step, run_id } = await world.agent.call("image.draw", { word: "x" });
    const run = await world.agent.run(run_id);
    await run.blob(step.output as unknown as Parameters<typeof run.blob>[0]);
    return noValue;
  },
  "run.export": async (world) => {
    const { run_id } = await rested(world, "note.write");
    await world.caller.call("run.export", { run_id, format: "journal" });
    await world.caller.call("run.export", { run_id, format: "otlp" });
    return noValue;
  },
  "run.cancel": async (world) => (await rested(world, "mail.send")).cancel({ reason: "no longer needed" }),
  resume: async (world) => world.agent.resume((await rested(world, "page.fail")).run_id),
  undo: async (world) => world.person.undo((await rested(world, "mail.lose")).run_id),
  verify: async (world) => world.person.verify((await rested(world, "mail.lose")).run_id),
  outcome: async ({ agent, person }) => {
    const [step] = plan("note.write").steps;
    const run = await agent.submit({ steps: [{ ...step, outcome: { type: "Note", status: "final" } }] }, { project });
    const { outcomes } = await run.result();
    return person.outcome(outcomes[0]?.outcome_id ?? "");
  },
  act: async (world) => {
    const run = await rested(world, "mail.lose");
    let key = "";
    for await (const { event } of run.events()) if (event.type === "step.started") key = event.call.key ?? "";
    return world.person.act(key);
  },
  cost: async (world) => world.agent.cost((await rested(world, "note.write")).run_id),
  check: ({ agent }) => agent.check(plan("note.write")),
  simulate: ({ agent }) => agent.simulate(plan("mail.send")),
  signal: ({ agent }) => agent.signal("go", { word: "hello" }),

  gates: async (world) => {
    await gateOf(world);
    return world.person.gates({ count: true });
  },
  gate: async (world) => world.person.gate(await gateOf(world)),
  approve: async (world) => world.person.approve(await gateOf(world)),
  reject: async (world) => world.person.reject(await gateOf(world)),
  inDoubt: async (world) => {
    await rested(world, "mail.lose");
    return world.person.inDoubt();
  },
  resolve: async (world) => world.person.resolve((await rested(world, "mail.lose")).run_id, "a", { as: "absent" }),
  outcomes: async ({ agent, person }) => {
    const outcome = { type: "note", status: "final" };
    const [step] = plan("note.write").steps;
    await (await agent.submit({ steps: [{ ...step, outcome }] })).finished();
    return person.outcomes({ count: true });
  },

  state: async (world) => {
    await rested(world, "note.write");
    return world.person.state({ project });
  },
  "checkpoints.list": async (world) => {
    await rested(world, "note.write");
    return world.person.checkpoints.list({ project });
  },
  "checkpoints.take": async (world) => world.person.checkpoints.take({ project, tags: { why: "test" } }),
  "checkpoints.get": async (world) =>
    world.person.checkpoints.get(`${(await rested(world, "note.write")).run_id}/a/before`, { contents: true }),
  "checkpoints.diff": async (world) => {
    const run = await rested(world, "note.write");
    return world.person.checkpoints.diff(checkpoint(run, "before"), checkpoint(run, "after"));
  },
  "checkpoints.restore": async (world) =>
    world.person.checkpoints.restore(checkpoint(await rested(world, "note.write"), "before")),
  "checkpoints.fork": async (world) =>
    world.person.checkpoints.fork(checkpoint(await rested(world, "note.write"), "before")),
  "checkpoints.load": async (world) => {
    await rested(world, "note.write");
    const snapshot = (await world.person.state({ project })).snapshot();
    return world.person.checkpoints.load(snapshot, { project: "other" });
  },
  "sessions.open": ({ person }) => person.sessions.open({ session: "desk", project }),
  "sessions.exists": async ({ person }) => {
    await person.sessions.open({ session: "desk", project });
    return person.sessions.exists("desk", { project });
  },
  "sessions.close": async ({ person }) => {
    await person.sessions.open({ session: "desk", project });
    return person.sessions.close("desk", { project, reason: "done" });
  },
  "projects.list": async (world) => {
    await rested(world, "note.write");
    await world.person.projects.close(project, { as: "locked", reason: "audit" });
    return world.person.projects.list();
  },
  "projects.history": async (world) => {
    await rested(world, "note.write");
    return world.person.projects.history(project);
  },
  "projects.revert": async (world) => {
    await rested(world, "note.write");
    return world.person.projects.revert(project, 0);
  },
  "projects.closure": async ({ person }) => {
    await person.projects.closure(project);
    await person.projects.close(project, { as: "locked", reason: "audit" });
    return person.projects.closure(project);
  },
  "projects.close": ({ person }) => person.projects.close(project, { as: "archived" }),
  "projects.open": async ({ person }) => {
    await person.projects.close(project, { as: "locked" });
    return person.projects.open(project);
  },

  "schedules.list": async (world) => {
    await schedule(world);
    return world.person.schedules.list();
  },
  "schedules.set": schedule,
  "schedules.pause": async (world) => {
    await schedule(world);
    return world.person.schedules.pause("daily");
  },
  "schedules.resume": async (world) => {
    await schedule(world);
    await world.person.schedules.pause("daily");
    return world.person.schedules.resume("daily");
  },
  "schedules.remove": async (world) => {
    await schedule(world);
    return world.person.schedules.remove("daily");
  },
  "policies.list": async ({ person }) => {
    await person.policies.set(policy("calm"));
    return person.policies.list();
  },
  "policies.get": async ({ person }) => {
    await person.policies.set(policy("calm"));
    return person.policies.get("calm");
  },
  "policies.history": async ({ person }) => {
    await person.policies.set(policy("calm"), { ifVersion: 0, reason: "first" });
    await person.policies.remove("calm");
    return person.policies.history();
  },
  "policies.test": async (world) => {
    await rested(world, "mail.send");
    const calls = [{ tool: "note.write", input: { word: "hello" }, as: { id: "x", kind: "agent" } as const }];
    return world.person.policies.test(policy("calm"), { recorded: 5, calls });
  },
  "policies.set": ({ person }) => person.policies.set(policy("calm")),
  "policies.remove": async ({ person }) => {
    await person.policies.set(policy("calm"));
    return person.policies.remove("calm");
  },
  "halts.list": async ({ person }) => {
    await person.halts.set({ reason: "stop" });
    return person.halts.list();
  },
  "halts.set": ({ person }) => person.halts.set({ reason: "stop" }),
  "halts.lift": async ({ person }) => {
    await person.halts.set({ reason: "stop" });
    return person.halts.lift();
  },
  "tools.list": ({ agent }) => agent.tools.list(),
  "tools.activity": async (world) => {
    await rested(world, "note.write");
    return world.person.tools.activity({ runs: 10 });
  },
  workers: async (world) => {
    await rested(world, "mail.send");
    return world.person.workers();
  },
  spent: ({ person }) => person.spent({ period: "2023-11" }),
  spentByDay: ({ person }) => person.spentByDay({ from: "2023-11-01", to: "2023-11-02" }),
  budgets: async (world) => {
    await rested(world, "note.write");
    return world.person.budgets();
  },
  audit: async (world) => {
    await rested(world, "note.write");
    return world.person.audit();
  },
  retain: async (world) => {
    await rested(world, "note.write");
    return world.person.retain({ endedBefore: 1 });
  },
  retentions: async ({ person }) => {
    await person.retain({ endedBefore: 1 });
    return person.retentions();
  },
  backups: ({ person }) => person.backups(),

  openRun: async ({ agent }) => {
    await agent.openRun({ session: "chat" });
    return agent.openRun({ session: "chat" });
  },
  "openRun.callTools": async ({ agent }) => {
    const run = await agent.openRun({ session: "chat" });
    return run.callTools([written, { id: "2", tool: "mail.send", input: { word: "hello" } }]);
  },
  "openRun.findCall": async ({ agent }) => {
    const run = await agent.openRun({ session: "chat" });
    await run.findCall("1");
    await run.callTool(written);
    return run.findCall("1");
  },
  "openRun.beginCall": async ({ agent }) => (await agent.openRun({ session: "chat" })).beginCall(written),
  endCall: async ({ agent }) => {
    const begun = await (await agent.openRun({ session: "chat" })).beginCall(written);
    return agent.endCall("go" in begun ? begun.token : "", { output: { word: "hello" } });
  },
  "openRun.markDelivered": async ({ agent }) => {
    const run = await agent.openRun({ session: "chat" });
    await run.callTool(written);
    return run.markDelivered("1", { to: "editor" });
  },
  "openRun.confirmCall": async ({ agent }) => {
    const run = await agent.openRun({ session: "chat" });
    await run.callTool({ id: "1", tool: "mail.ask", input: { word: "hello" } });
    return run.confirmCall("1", { reason: "a button" });
  },
  "openRun.recordModelCall": async ({ agent }) => {
    const run = await agent.openRun({ session: "chat" });
    const answer = await run.recordModelCall(request, async () => ({ role: "assistant", content: "hi" }));
    await run.recordModelCall(request, async () => ({}));
    return answer;
  },
  "openRun.answerModelCall": async ({ agent }) => {
    const run = await agent.openRun({ session: "chat" });
    return run.recordModelCall(request, async () => ({ role: "assistant", content: "hi" }));
  },
  "openRun.turns": async ({ agent }) => {
    const run = await agent.openRun({ session: "chat" });
    await run.recordModelCall(request, async () => ({ role: "assistant", content: "hi" }));
    await run.callTool(written);
    return run.turns();
  },
  "openRun.close": async ({ agent }) => (await agent.openRun({ session: "chat" })).close({ as: "completed" }),
  "openRun.release": async ({ agent }) => (await agent.openRun({ session: "chat" })).release(),
  forget: async ({ agent, person }) => {
    await agent.openRun({ session: "chat" });
    return person.forget({ session: "chat", owner: "bot" });
  },

  "run.stream": async (world) => {
    const run = await rested(world, "note.write");
    let last = 0;
    for await (const { position } of run.events({ follow: true })) last = position;
    const headers = { "last-event-id": String(last) };
    await world.caller.open("run.stream", { run_id: run.run_id }, headers);
    return noValue;
  },
  stream: async (world) => {
    const stop = new AbortController();
    const first = world.person.changes({ signal: stop.signal })[Symbol.asyncIterator]().next();
    const { value } = await Promise.race([first, rested(world, "note.write").then(() => first)]);
    stop.abort();
    return value === undefined ? "no change" : noValue;
  },
  whoami: ({ agent }) => agent.whoami(),
  openapi: async ({ caller }) => {
    await caller.call("openapi", {});
    return noValue;
  },
};
