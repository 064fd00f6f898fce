import type { Tool } from "./tool.ts";
import { toolDefaults } from "./tool-defaults.ts";

type BuiltInFields = Pick<Tool, "name" | "description" | "input" | "output" | "run"> & {
  readonly effect: "pure" | "reads" | "writes";
} & Partial<Pick<Tool, "timeoutMs" | "asks" | "tries" | "resources" | "stateReads" | "stateWrites">>;

/** Makes a tool that the engine itself has: it never acts, and has no options of users. */
export function makeBuiltInTool(fields: BuiltInFields): Tool {
  return {
    version: "1",
    tags: [],
    risk: "low",
    roles: [],
    confirmation: false,
    asksFor: {},
    preconditions: [],
    identity: null,
    timeoutMs: toolDefaults.timeoutMs,
    asks: null,
    heartbeatMs: null,
    tries: null,
    retry: "named",
    cache: "never",
    cacheTtlMs: null,
    cacheShare: "principal",
    cost: null,
    resources: {},
    external: false,
    stateReads: null,
    stateWrites: null,
    redact: [],
    settleAfterMs: 0,
    confirm: "none",
    idempotentForMs: null,
    errorsMean: "unknown",
    onDuplicate: "hold",
    safeIfAbsent: false,
    abort: "never",
    preview: null,
    verify: null,
    verifyChange: null,
    compensate: null,
    ...fields,
  };
}
