// This file is compiled, not run: it checks the types of `defineTool`.
import { z } from "zod";
import type { InputOf, OutputOf, Tool } from "../../src/core/tool/tool.ts";
import type { EffectKey } from "../../src/core/values/ids.ts";
import type { Json } from "../../src/core/values/json.ts";
import { defineTool } from "../../src/schema/define-tool.ts";

type Same<Left, Right> = (<T>() => T extends Left ? 1 : 2) extends <T>() => T extends Right ? 1 : 2 ? true : false;
function same<_Proof extends true>(): void {}

// The tools of the program in the README.
const write = defineTool({
  name: "mail.write",
  effect: "reads",
  input: z.object({ to: z.string() }),
  output: z.object({ body: z.string() }),
  run: async ({ to }) => ({ body: `Dear ${to}, welcome.` }),
});
const send = defineTool({
  name: "mail.send",
  effect: "acts",
  input: z.object({ to: z.string(), body: z.string() }),
  output: z.object({ id: z.string() }),
  // biome-ignore lint/complexity/noCommaOperator: word for word as the user reads it.
  run: async ({ to, body }, { key }) => (console.log(`to ${to}: ${body}`), { id: key }),
});
export const tools: readonly Tool[] = [write, send];

// The handler gets the parsed input and returns a value that the output schema accepts.
defineTool({
  name: "count",
  effect: "pure",
  input: z.object({ n: z.coerce.number(), note: z.string().default("") }),
  output: z.object({ n: z.number(), by: z.string().default("me") }),
  run: (input, context) => {
    same<Same<typeof input, { n: number; note: string }>>();
    same<Same<typeof context.key, EffectKey | "">>();
    return { n: input.n };
  },
});

// `verify` and `compensate` get the types of the input and the output.
defineTool({
  name: "pay",
  effect: "acts",
  input: z.object({ cents: z.number() }),
  output: z.object({ id: z.string() }),
  run: async ({ cents }) => ({ id: `${cents}` }),
  verify: async ({ key, input, output }) => {
    same<Same<typeof input, { cents: number }>>();
    same<Same<typeof output, { id: string } | null>>();
    return output === null ? { saw: "unknown", why: key } : { saw: "happened", output };
  },
  compensate: async ({ input, output }) => `${input.cents} ${output?.id}`,
});

// A raw JSON Schema has no TypeScript type, so the author may declare one.
defineTool({
  name: "raw",
  effect: "pure",
  input: { type: "object", properties: { to: { type: "string" } } },
  output: {},
  run: (input) => {
    same<Same<typeof input, Json>>();
    return input;
  },
});
defineTool({ name: "raw", effect: "pure", input: {}, output: {}, run: ({ to }: { to: string }) => to });

const base = { name: "a", input: z.object({ a: z.string() }), output: z.object({ b: z.number() }) } as const;

// @ts-expect-error the effect is required
defineTool({ ...base, run: () => ({ b: 1 }) });
// @ts-expect-error the result must match the output schema
defineTool({ ...base, effect: "pure", run: () => ({ b: "1" }) });
// @ts-expect-error the input has no such field
defineTool({ ...base, effect: "pure", run: ({ c }) => ({ b: c }) });
// @ts-expect-error identity is a list of fields
defineTool({ ...base, effect: "acts", identity: () => "a", run: () => ({ b: 1 }) });
// @ts-expect-error no such field
defineTool({ ...base, effect: "pure", timeout: 5, run: () => ({ b: 1 }) });

// Literals of an output with an enum, a literal or a union keep their types, in each handler.
const forecast = defineTool({
  name: "forecast",
  effect: "acts",
  input: z.object({ city: z.string(), days: z.number().default(1) }),
  output: z.object({
    sky: z.enum(["clear", "cloudy"]),
    unit: z.literal("celsius"),
    wind: z.discriminatedUnion("kind", [
      z.object({ kind: z.literal("calm") }),
      z.object({ kind: z.literal("storm"), force: z.number() }),
    ]),
    days: z.array(z.enum(["mon", "tue"])),
  }),
  run: async ({ city }) => ({
    sky: city === "Oslo" ? "cloudy" : "clear",
    unit: "celsius",
    wind: { kind: "storm", force: 9 },
    days: ["mon"],
  }),
  preview: () => ({ sky: "clear", unit: "celsius", wind: { kind: "calm" }, days: [] }),
  verify: async ({ key }) =>
    key === ""
      ? { saw: "unknown" }
      : { saw: "happened", output: { sky: "clear", unit: "celsius", wind: { kind: "calm" }, days: ["tue", "mon"] } },
});
defineTool({
  name: "sky",
  effect: "pure",
  input: z.object({}),
  output: z.enum(["clear", "cloudy"]),
  run() {
    return "clear";
  },
});
defineTool({
  name: "block",
  effect: "reads",
  input: z.object({}),
  output: z.object({ sky: z.enum(["clear", "cloudy"]) }),
  run: async (_input, { now }) => {
    if (now > 0) return { sky: "cloudy" };
    return { sky: "clear" };
  },
});
// @ts-expect-error "rain" is not a value of the enum
defineTool({ ...base, effect: "pure", output: z.object({ b: z.enum(["dry"]) }), run: () => ({ b: "rain" }) });

// A tool carries the types of its input, as a caller writes it, and of its output.
same<Same<InputOf<typeof forecast>, { city: string; days?: number | undefined }>>();
same<Same<OutputOf<typeof send>, { id: string }>>();
same<Same<OutputOf<Tool>, Json>>();

// An output may be recursive, a bare literal, or any JSON.
interface Node {
  name: string;
  children: Node[];
}
const node: z.ZodType<Node> = z.object({
  name: z.string(),
  get children() {
    return z.array(node);
  },
});
defineTool({
  name: "tree",
  effect: "pure",
  input: node,
  output: node,
  run: (given) => ({ name: given.name, children: [given] }),
});
defineTool({
  name: "json",
  effect: "pure",
  input: z.json(),
  output: z.object({ any: z.json(), unknown: z.unknown() }),
  run: (given) => ({ any: given, unknown: 1 }),
});
defineTool({ name: "one", effect: "pure", input: z.object({}), output: z.literal(1), run: () => 1 });
