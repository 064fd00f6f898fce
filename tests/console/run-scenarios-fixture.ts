import { z } from "zod";
import type { Engine } from "../../src/engine/api/engine-api.ts";
import type { OpenRun } from "../../src/engine/api/open-run-api.ts";
import { defineSlice } from "../../src/schema/define-slice.ts";
import { defineTool } from "../../src/schema/define-tool.ts";
import { assistant, chat, chatAnswer, resultForClient, user } from "../engine/scripted-model.ts";

const bot = { id: "bot", kind: "agent", tenant: "acme" } as const;
const anaPerson = { id: "ana", kind: "person", tenant: "acme" } as const;

/** Texts that a page must show as they are: markup, scripts, and characters that hide or reorder others. */
export const hostileText = `<img src=x onerror="document.title='owned'"><script>document.title='owned'</script>\u202Ereversed\u202C\u0007\u200Bend`;

/** One pixel, as a PNG. */
const pixel = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==",
  "base64",
);

const notes = defineSlice({ name: "notes", shape: "map", entry: z.string() });

const anyInput = z.record(z.string(), z.unknown());

/** Fails always. */
const lostPage = defineTool({
  name: "page.lost",
  effect: "reads",
  input: anyInput,
  output: anyInput,
  run: () => Promise.reject(new Error("the page is gone")),
});

/** Tools that look, write and compute. */
function quietTools() {
  let isDown = true;
  return [
    defineTool({
      name: "crm.find",
      effect: "reads",
      input: z.object({ name: z.string() }),
      output: z.object({ to: z.string(), company: z.string(), since: z.number() }),
      run: async ({ name }) => ({ to: `${name.toLowerCase()}@example.org`, company: "Northwind", since: 2019 }),
    }),
    defineTool({
      name: "model.draft",
      effect: "reads",
      input: z.object({ to: z.string() }),
      output: z.object({ subject: z.string(), body: z.string() }),
      run: async ({ to }, { cost }) => {
        await cost({ usd_micros: 3120, tokens_in: 812, tokens_out: 164 });
        return { subject: "Welcome", body: `Dear ${to},\nwelcome to Northwind.\n` };
      },
    }),
    defineTool({
      name: "notes.keep",
      effect: "writes",
      input: z.object({ name: z.string(), text: z.string() }),
      output: z.object({ count: z.number() }),
      run: async ({ name, text }, { slice }) => {
        slice(notes).set(name, text);
        return { count: slice(notes).size };
      },
    }),
    defineTool({
      name: "page.read",
      effect: "reads",
      input: z.object({ url: z.string() }),
      output: z.object({ words: z.number() }),
      run: async () => {
        if (isDown) {
          isDown = false;
          throw Object.assign(new Error("the page answered 503"), { code: "TEMPORARY_PROVIDER_ERROR" });
        }
        return { words: 420 };
      },
    }),
    lostPage,
    defineTool({ name: "echo", effect: "pure", input: anyInput, output: anyInput, run: async (given) => given }),
    defineTool({
      name: "big.read",
      effect: "reads",
      input: z.object({}),
      output: z.object({ text: z.string(), pixel: z.unknown() }),
      run: async () => ({ text: "0123456789".repeat(500_000), pixel }),
    }),
  ];
}

/** Tools that act: one whose acts can be undone, and one that leaves a doubt. */
function actingTools(sent: string[]) {
  return [
    defineTool({
      name: "mail.send",
      effect: "acts",
      input: z.object({ to: z.string(), body: z.string() }),
      output: z.object({ id: z.string() }),
      compensate: async ({ output }) => ({ recalled: output?.id ?? null }),
      run: async ({ to }, { key, changed }) => {
        sent.push(to);
        const id = key.slice(0, 12);
        changed({ type: "mail", id, operation: "sent", ref: hostileText });
        return { id };
      },
    }),
    defineTool({
      name: "pay.charge",
      effect: "acts",
      input: z.object({ amount: z.number() }),
      output: z.object({ id: z.string() }),
      run: async () => {
        throw new Error("the connection was cut after the request was sent");
      },
    }),
  ];
}

type Steps = readonly Readonly<Record<string, unknown>>[];

const outreach: Steps = [
  { step_id: "find", name: "crm.find", payload: { name: "Ana" } },
  { step_id: "page", name: "page.read", payload: { url: "https://example.org" }, on_failure: "retry" },
  { step_id: "draft", name: "model.draft", payload: {}, bindings: { "/to": { step: "find", path: "/to" } } },
  {
    step_id: "note",
    name: "notes.keep",
    payload: { name: "ana", text: "first mail\nto Ana\n" },
    depends_on: ["draft"],
  },
  {
    step_id: "send",
    name: "mail.send",
    payload: {},
    bindings: { "/to": { step: "find", path: "/to" }, "/body": { step: "draft", path: "/body" } },
    depends_on: ["page"],
  },
  { step_id: "log", name: "echo", payload: { done: true }, depends_on: ["send", "note"] },
];

const longText = (mark: string): string => Array.from({ length: 10_000 }, (_, at) => `line ${at} ${mark}`).join("\n");

/** Plans that end, or that wait for a person. */
const scenarioPlans = {
  held: { steps: outreach, title: "Welcome Ana", labels: ["onboarding"], mode: "human_gated" },
  inDoubt: {
    steps: [
      { step_id: "charge", name: "pay.charge", payload: { amount: 12 } },
      { step_id: "log", name: "echo", payload: {}, depends_on: ["charge"] },
    ],
    title: "Charge the card",
    mode: "auto_exec",
  },
  hostile: {
    steps: [{ step_id: "show", name: "echo", payload: { [hostileText]: hostileText, list: [hostileText] } }],
    title: hostileText,
    labels: [hostileText.slice(0, 40)],
  },
  big: {
    steps: [
      { step_id: "first", name: "notes.keep", payload: { name: "long", text: longText("one") } },
      {
        step_id: "second",
        name: "notes.keep",
        payload: { name: "long", text: longText("two") },
        depends_on: ["first"],
      },
      { step_id: "read", name: "big.read", payload: {} },
    ],
    title: "Large values",
  },
} satisfies Readonly<Record<string, ScenarioPlan>>;

interface ScenarioPlan {
  readonly steps: Steps;
  readonly title: string;
  readonly labels?: readonly string[];
  readonly mode?: "human_gated" | "auto_exec";
}

/** The options of an engine for the scenarios. */
export function scenarioEngine(sent: string[] = []) {
  return { tools: [...quietTools(), ...actingTools(sent)], slices: [notes] };
}

/** Makes runs in an engine with the tools of the scenarios. */
export interface RunScenarios {
  /** Submits a plan, and returns its run when it goes no further by itself. */
  submit(plan: keyof typeof scenarioPlans): Promise<string>;
  /** Returns a run of the plan whose gates are approved. */
  approved(plan: keyof typeof scenarioPlans): Promise<string>;
  /** Returns a completed run of a plan with this number of steps. */
  large(count: number): Promise<string>;
  /** Returns an open run with answers of a model, a call, and a held call. */
  session(name: string): Promise<OpenRun>;
}

export function runScenarios(engine: Engine): RunScenarios {
  const submit = async ({ steps, ...options }: ScenarioPlan): Promise<string> => {
    const run = await engine.submit({ steps }, { principal: bot, ...options });
    await run.result();
    return run.run_id;
  };
  return {
    submit: (plan) => submit(scenarioPlans[plan]),
    approved: async (plan) => {
      const run = await engine.run(await submit(scenarioPlans[plan]), { principal: anaPerson });
      for (const { gate_id } of (await run.now()).gates)
        await engine.approve(gate_id, { principal: anaPerson, reason: "known to us" });
      await run.result();
      return run.run_id;
    },
    large: (count) => submit(largePlan(count)),
    session: (name) => openSession(engine, name),
  };
}

/** A tree in which four steps follow each step. */
function largePlan(count: number): ScenarioPlan {
  const steps = Array.from({ length: count }, (_, at) => ({
    step_id: `s${at}`,
    name: "echo",
    payload: { at },
    depends_on: at === 0 ? [] : [`s${Math.floor((at - 1) / 4)}`],
  }));
  return { steps, title: `${count} steps` };
}

/** A support agent that looks a customer up, writes a draft, and asks to send it. */
async function openSession(engine: Engine, session: string): Promise<OpenRun> {
  const run = await engine.openRun({
    session,
    principal: bot,
    mode: "human_gated",
    title: "Ticket 42: refund",
    agent: { name: "support", version: "3" },
  });
  const find = { id: "call_1", tool: "crm.find", input: { name: "Ana" } };
  const send = { id: "call_2", tool: "mail.send", input: { to: "ana@example.org", body: "We have your refund." } };
  const opening = [user("A customer named Ana asks for a refund. Look her up and write to her.")];
  await run.recordModelCall(chat(...opening), () => chatAnswer("I look her up first.", find));
  await run.callTool(find);
  const found = [
    ...opening,
    assistant("I look her up first.", find),
    resultForClient("call_1", { to: "ana@example.org" }),
  ];
  await run.recordModelCall(chat(...found), () => chatAnswer("Now I write to her.", send));
  await run.callTool(send);
  return run;
}
