import type { Tool } from "../src/core/tool.ts";
import { defineTool, type ToolDefinition } from "../src/schema/define-tool.ts";

type Definition = ToolDefinition<typeof input, typeof output>;

const input = {
  type: "object",
  properties: { tenant: { type: "string" }, to: { type: "string" }, text: { type: "string" } },
  required: ["tenant", "to"],
  additionalProperties: false,
} as const;

const output = {
  type: "object",
  properties: {
    tenant: { type: "string" },
    id: { type: "string" },
    n: { type: "number" },
    password: { type: "string" },
  },
  required: ["tenant", "id", "n"],
  additionalProperties: false,
} as const;

const nothing = { type: "null" } as const;

/** What may never be found on record. */
export const SECRET = "open sesame";

/** Somebody else does the work: each worker gets its own copy, bound to the world. */
const elsewhere = (): never => {
  throw new Error("a tool of the cast is bound to a world before it is called");
};

export const tool = (name: string, definition: Omit<Definition, "name" | "input" | "output" | "run">): Tool =>
  defineTool({ name, input, output: name === MUTE ? nothing : output, run: elsewhere, ...definition });

/** The tool that has nothing to say when it is done. */
export const MUTE = "ring";

const seen = { verify: elsewhere, settleAfter: 8000 } as const;
const undoable = { compensate: elsewhere } as const;
const secretive = { redact: ["/password"] } as const;

/** Every kind of tool the law tells apart. */
export const cast: readonly Tool[] = [
  tool("calc", { effect: "pure", cache: "use_if_safe", timeoutMs: 3000 }),
  tool("ask", { effect: "reads", timeoutMs: 4000, ...secretive }),
  tool("news", { effect: "reads", timeoutMs: 2000, cache: "ttl_only", cacheTtlMs: 20_000 }),
  tool("note", { effect: "writes", timeoutMs: 3000, tries: 2 }),
  // Nobody can be asked, nothing is promised.
  tool("post", { effect: "acts", timeoutMs: 4000 }),
  tool("mail", { effect: "acts", identity: ["to"], timeoutMs: 3000 }),
  tool("ring", { effect: "acts", identity: ["to"], errorsMean: "not_done", onDuplicate: "refuse", timeoutMs: 3000 }),
  // The world can be asked.
  tool("pay", { effect: "acts", identity: ["to"], timeoutMs: 3000, ...seen, ...undoable }),
  tool("book", {
    effect: "acts",
    identity: ["to"],
    timeoutMs: 2000,
    ...seen,
    ...undoable,
    ...secretive,
    safeIfAbsent: true,
    onDuplicate: "reuse",
  }),
  tool("file", { effect: "acts", timeoutMs: 5000, ...seen, confirm: "gate", identity: ["to"], onDuplicate: "reuse" }),
  // The world knows the key.
  tool("save", { effect: "acts", timeoutMs: 4000, settleAfter: 9000, idempotent: { forMs: 30_000 } }),
  tool("sync", {
    effect: "acts",
    identity: ["to"],
    timeoutMs: 3000,
    ...seen,
    settleAfter: 0,
    idempotent: { forMs: 20_000 },
    ...undoable,
  }),
  // It can be undone, but not looked at.
  tool("rent", { effect: "acts", identity: ["to"], timeoutMs: 3000, ...undoable }),
];

export const castNames: readonly string[] = cast.map(({ name }) => name);
export const actNames: readonly string[] = cast.filter(({ effect }) => effect === "acts").map(({ name }) => name);
