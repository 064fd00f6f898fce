// Not run: it compiles, or the types of a tool are wrong.
import { z } from "zod";
import type { EffectKey } from "../src/core/id.ts";
import type { Json } from "../src/core/json/json.ts";
import type { Tool } from "../src/core/tool.ts";
import { defineTool } from "../src/schema/define-tool.ts";

type Same<Left, Right> = (<T>() => T extends Left ? 1 : 2) extends <T>() => T extends Right ? 1 : 2 ? true : false;
function same<_Proof extends true>(): void {}

// The tools of the first program a user meets.
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

// The input is what the schema yields; the answer is what the output schema accepts.
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

// What verifies and undoes an act sees its types.
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

// A raw JSON Schema says nothing to the compiler, so the author may.
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

// @ts-expect-error what a tool does to the world must be said
defineTool({ ...base, run: () => ({ b: 1 }) });
// @ts-expect-error the answer must fit the output
defineTool({ ...base, effect: "pure", run: () => ({ b: "1" }) });
// @ts-expect-error the input has no such field
defineTool({ ...base, effect: "pure", run: ({ c }) => ({ b: c }) });
// @ts-expect-error identity is a list of fields
defineTool({ ...base, effect: "acts", identity: () => "a", run: () => ({ b: 1 }) });
// @ts-expect-error no such field
defineTool({ ...base, effect: "pure", timeout: 5, run: () => ({ b: 1 }) });
