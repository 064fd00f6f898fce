import { z } from "zod";
import type { Engine, PrincipalInput } from "../../src/engine/api/engine-api.ts";
import type { createEngine } from "../../src/engine/engine.ts";
import { defineSlice } from "../../src/schema/define-slice.ts";
import { defineTool } from "../../src/schema/define-tool.ts";
import { ana } from "./browser-fixture.ts";

/** The agent that submits the runs of the pages. */
export const robot = { id: "robot", kind: "agent", tenant: "acme" } as const satisfies PrincipalInput;

/** Texts that a page must show as they are: markup, scripts, and characters that hide or reorder others. */
export const hostile = `<img src=x onerror="document.title='owned'"><script>document.title='owned'</script>\u202Edrow\u202C\u0007\u200B end`;

/** The same as far as a name may have it: names have no hidden characters. */
export const hostileName = `<img src=x onerror="document.title='owned'"><b>name</b>`;

const facts = defineSlice({ name: "facts", shape: "map", entry: {} });
const diary = defineSlice({ name: "diary", shape: "list", entry: z.string() });

const address = z.object({ street: z.string(), city: z.string().default("Rome") });

function scenarioTools() {
  return [
    defineTool({
      name: "mail.send",
      effect: "acts",
      description: "Sends a mail to one recipient.",
      tags: ["outside"],
      input: z.object({ to: z.string(), subject: z.string(), urgent: z.boolean().optional() }),
      output: z.object({ sent: z.boolean() }),
      preview: async () => ({ sent: true }),
      cost: () => ({ usd_micros: 1200 }),
      run: async () => ({ sent: true }),
    }),
    defineTool({
      name: "model.draft",
      effect: "reads",
      description: hostile,
      input: z.object({ topic: z.string().describe(hostile), tone: z.enum(["warm", "formal"]).optional() }),
      output: z.object({ body: z.string() }),
      cache: "never",
      run: async ({ topic }, { cost }) => {
        cost({ usd_micros: 31_200 + topic.length * 900, tokens_in: 812, tokens_out: 164 });
        if (topic === "broken") throw new Error(hostile);
        return { body: `About ${topic}` };
      },
    }),
    defineTool({
      name: "facts.write",
      effect: "writes",
      description: "Keeps a fact in the state of the project.",
      input: z.object({ key: z.string(), value: z.unknown() }),
      output: z.object({}),
      run: async ({ key, value }, { slice }) => {
        slice(facts).set(key, value as never);
        slice(diary).append(`wrote ${key}`);
        return {};
      },
    }),
    defineTool({
      name: "order.place",
      effect: "pure",
      description: "Shows every kind of field.",
      input: z.object({
        customer: z.string(),
        count: z.number().int().min(1),
        gift: z.boolean(),
        size: z.enum(["small", "large"]),
        address,
        notes: z.array(z.string()).optional(),
        extra: z.union([z.string(), z.null()]).optional(),
      }),
      output: z.object({ total: z.number() }),
      run: async ({ count }) => ({ total: count * 3 }),
    }),
  ];
}

/** The settings of an engine whose pages have something of everything to show. */
export const scenarioEngine = (): Partial<Parameters<typeof createEngine>[0]> => ({
  tools: scenarioTools(),
  slices: [facts, diary],
  tenants: { acme: { mode: "human_gated" } },
  budgets: [
    { unit: "usd_micros", limit: 2_000_000, per: "tenant-month" },
    { unit: "usd_micros", limit: 600_000, per: "user-day", tool: "model.draft" },
  ],
  rates: [{ calls: 1000, per: "tenant-hour" }],
});

const planOf = (name: string, payload: object) => ({ steps: [{ step_id: "a", name, payload }] });

/** Runs of every kind: completed, failed, held, with titles, labels, projects and hostile texts. */
export async function seedRuns(engine: Engine): Promise<{ readonly held: string; readonly failed: string }> {
  const submit = async (name: string, payload: object, more: object = {}, principal: PrincipalInput = robot) => {
    const run = await engine.submit(planOf(name, payload), { principal, ...more });
    await run.result();
    return run.run_id;
  };
  for (const [at, topic] of ["spring sale", "welcome", "invoice", "survey", "newsletter"].entries())
    await submit("model.draft", { topic }, { title: `Draft: ${topic}`, labels: ["campaign", at % 2 ? "eu" : "us"] });
  await submit("model.draft", { topic: "travel" }, {}, { ...robot, id: "support-agent" });
  const failed = await submit("model.draft", { topic: "broken" }, { title: "Draft that fails" });
  await submit("model.draft", { topic: "x" }, { title: hostile, labels: [hostileName], project: hostileName });
  const held = await submit(
    "mail.send",
    { to: "li@example.org", subject: "Hello" },
    { title: "Welcome Li", project: "hr" },
  );
  await submit("mail.send", { to: "bo@example.org", subject: hostile }, { project: "hr" });
  return { held, failed };
}

/** Versions of two projects, one with hostile keys and values. */
export async function seedProjects(engine: Engine): Promise<void> {
  const write = async (project: string, key: string, value: unknown) => {
    const run = await engine.submit(planOf("facts.write", { key, value }), { principal: robot, project });
    await run.result();
  };
  for (const [key, value] of [
    ["price", 10],
    ["price", 12],
    ["owner", "ana"],
    ["terms", { days: 30, discount: 0.1, text: "Payment\nwithin 30 days" }],
    ["price", 15],
    ["terms", { days: 14, discount: 0.1, text: "Payment\nwithin 14 days" }],
  ] as const)
    await write("website", key, value);
  await write(hostileName, hostile, hostile);
}

export const policyOf = (rules: readonly object[], name = "house-rules") => ({
  schema_version: "1.0",
  name,
  scope: { tenant: "acme" },
  rules,
});

export async function seedPolicies(engine: Engine): Promise<void> {
  const ask = { id: "ask", kind: "approval", on: { tools: ["mail.*"] }, reason: "A person reads every mail" };
  await engine.policies.set(policyOf([ask]), { principal: ana, reason: "Start" });
  const limit = { id: "budget", kind: "budget", unit: "usd_micros", limit: 5_000_000, per: "tenant-month" };
  await engine.policies.set(policyOf([ask, limit]), { principal: ana, reason: hostile });
  await engine.policies.set(policyOf([], "drafts"), { principal: ana });
}

export async function seedSchedules(engine: Engine): Promise<void> {
  const plan = planOf("model.draft", { topic: "morning" });
  await engine.schedules.set("Morning report", plan, { principal: ana, cron: "0 9 * * 1-5", zone: "Europe/Rome" });
  await engine.schedules.set(hostileName, plan, { principal: ana, cron: "0 0 1 * *" });
  await engine.schedules.pause(hostileName, { principal: ana });
}
