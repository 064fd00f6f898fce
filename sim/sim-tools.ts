import type { Tool } from "../src/core/tool/tool.ts";
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

const nullOutput = { type: "null" } as const;

/** A secret that must never be recorded. */
export const SECRET_OUTPUT = "a secret output";

/** Each worker replaces this handler by one that is bound to the simulated world. */
const notBound = (): never => {
  throw new Error("a simulated tool was called before it was bound to a world");
};

export const simTool = (name: string, definition: Omit<Definition, "name" | "input" | "output" | "run">): Tool =>
  defineTool({ name, input, output: name === SILENT_TOOL ? nullOutput : output, run: notBound, ...definition });

/** The tool whose output is null. */
export const SILENT_TOOL = "ring";

const verifiable = { verify: notBound, settleAfter: 8000 } as const;
const undoable = { compensate: notBound } as const;
const redacted = { redact: ["/password"] } as const;

/** One tool per combination of declarations that the engine treats differently. */
export const simTools: readonly Tool[] = [
  simTool("calc", { effect: "pure", cache: "use_if_safe", timeoutMs: 3000 }),
  simTool("ask", { effect: "reads", timeoutMs: 4000, ...redacted }),
  simTool("news", { effect: "reads", timeoutMs: 2000, cache: "ttl_only", cacheTtlMs: 20_000 }),
  simTool("note", { effect: "writes", timeoutMs: 3000, tries: 2 }),
  // Not verifiable, and nothing promised.
  simTool("post", { effect: "acts", timeoutMs: 4000 }),
  simTool("mail", { effect: "acts", identity: ["to"], timeoutMs: 3000 }),
  simTool("ring", { effect: "acts", identity: ["to"], errorsMean: "not_done", onDuplicate: "refuse", timeoutMs: 3000 }),
  // Verifiable.
  simTool("pay", { effect: "acts", identity: ["to"], timeoutMs: 3000, ...verifiable, ...undoable }),
  simTool("book", {
    effect: "acts",
    identity: ["to"],
    timeoutMs: 2000,
    ...verifiable,
    ...undoable,
    ...redacted,
    safeIfAbsent: true,
    onDuplicate: "reuse",
  }),
  simTool("file", {
    effect: "acts",
    timeoutMs: 5000,
    ...verifiable,
    confirm: "gate",
    identity: ["to"],
    onDuplicate: "reuse",
  }),
  // Idempotent by key.
  simTool("save", { effect: "acts", timeoutMs: 4000, settleAfter: 9000, idempotent: { forMs: 30_000 } }),
  simTool("sync", {
    effect: "acts",
    identity: ["to"],
    timeoutMs: 3000,
    ...verifiable,
    settleAfter: 0,
    idempotent: { forMs: 20_000 },
    ...undoable,
  }),
  // Undoable, but not verifiable.
  simTool("rent", { effect: "acts", identity: ["to"], timeoutMs: 3000, ...undoable }),
];

export const simToolNames: readonly string[] = simTools.map(({ name }) => name);
export const actToolNames: readonly string[] = simTools
  .filter(({ effect }) => effect === "acts")
  .map(({ name }) => name);
