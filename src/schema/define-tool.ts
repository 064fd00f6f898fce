import type { Effect } from "../core/effect.ts";
import { FaultError, fault } from "../core/fault.ts";
import type { Json } from "../core/json/json.ts";
import { pointerTo } from "../core/json/pointer.ts";
import type { Estimate } from "../core/limits/budget.ts";
import type { Access } from "../core/resource.ts";
import type { Schema } from "../core/schema.ts";
import type { CachePolicy, Done, Probe, Sighting, Tool, ToolContext } from "../core/tool.ts";
import { type Accepted, type SchemaDefinition, schemaFrom, type Yielded } from "./schema-from.ts";
import { problemsWith } from "./tool-problems.ts";

/** A tool as its author writes it. What it does to the world must be said; the rest has safe defaults. */
export interface ToolDefinition<Input extends SchemaDefinition, Output extends SchemaDefinition> {
  readonly name: string;
  /** A run keeps the version it was accepted with. */
  readonly version?: string;
  readonly effect: Effect;
  readonly description?: string;
  readonly tags?: readonly string[];
  readonly risk?: Tool["risk"];
  /** Only who has one of these roles may call it. Default: anyone. */
  readonly roles?: readonly string[];
  /** Conditions that have to hold of every call, as a policy would say them. */
  readonly preconditions?: Tool["preconditions"];
  readonly input: Input;
  readonly output: Output;
  /** The fields of the input, by name or JSON pointer, that make two calls the same act. */
  readonly identity?: readonly string[];
  readonly timeoutMs?: number;
  /** How long the handler may go without `context.heartbeat()` before it is taken for lost, as after its timeout. */
  readonly heartbeatMs?: number;
  readonly tries?: number;
  readonly cache?: CachePolicy;
  readonly cacheTtlMs?: number;
  /**
   * What a call spends, as far as it is known before: reserved where a budget counts it, and what it has cost unless the
   * handler says otherwise. `{}`: nothing.
   */
  readonly cost?: Estimate | ((input: Yielded<Input>) => Estimate);
  /**
   * The resources of the engine that it changes, by name. handle: only through what `context.resource` gives it. raw: also past
   * it, as anything does that starts a process.
   */
  readonly resources?: Readonly<Record<string, Access>>;
  /**
   * The places of the project's state that it reads and writes: slices by name, or JSON pointers such as `/beds/north`. Steps of a plan that
   * are in each other's way then wait for each other; going anywhere else fails the call. What is written may be read.
   */
  readonly stateReads?: readonly string[];
  readonly stateWrites?: readonly string[];
  /** The fields of the output, by name or JSON pointer, that are stored only as digests. */
  readonly redact?: readonly string[];

  /** Acts: how long after its timeout an act can still arrive. */
  readonly settleAfter?: number;
  /** Acts: what happens when a recorded act is no longer found in the world. */
  readonly confirm?: Tool["confirm"];
  /** Acts: how long the outside world recognises the key and does nothing twice. */
  readonly idempotent?: { readonly forMs: number };
  /** Acts: what an error says about the world. */
  readonly errorsMean?: Tool["errorsMean"];
  /** Acts: what happens when another run has already done the same. */
  readonly onDuplicate?: Tool["onDuplicate"];
  /** Acts: undoing what never happened does no harm. */
  readonly safeIfAbsent?: boolean;

  run(input: Yielded<Input>, context: ToolContext): Promise<Accepted<Output>> | Accepted<Output>;
  /** Acts: what it would answer, told without acting. It may look at state, and at nothing else that could change. */
  preview?(
    input: Yielded<Input>,
    context: Pick<ToolContext, "slice" | "signal" | "now">,
  ): Promise<Accepted<Output>> | Accepted<Output>;
  /** Acts: asks the world whether it happened. */
  verify?(probe: ProbeOf<Input, Output>): Promise<SightingOf<Output>> | SightingOf<Output>;
  /** Acts: undoes it. */
  compensate?(done: DoneOf<Input, Output>, context: ToolContext): unknown;
}

type ProbeOf<Input, Output> = Omit<Probe, "input" | "output"> & {
  readonly input: Yielded<Input>;
  readonly output: Yielded<Output> | null;
};

type SightingOf<Output> =
  | { readonly saw: "happened"; readonly output: Accepted<Output>; readonly differs?: string }
  | Exclude<Sighting, { readonly saw: "happened" }>;

type DoneOf<Input, Output> = Omit<Done, "input" | "output"> & {
  readonly input: Yielded<Input>;
  readonly output: Yielded<Output> | null;
};

const timeoutMsDefault = 30_000;
const settleAfterDefault = 60_000;

/** Makes a tool of its definition, or throws TOOL_INVALID with everything that contradicts itself. */
export function defineTool<const Input extends SchemaDefinition, const Output extends SchemaDefinition>(
  definition: ToolDefinition<Input, Output>,
): Tool {
  const input = schemaOf(definition, "input");
  const output = schemaOf(definition, "output");
  const problems = problemsWith(definition, { input: input.json, output: output.json });
  if (problems.length > 0) {
    throw new FaultError(fault("TOOL_INVALID", `${definition.name}: ${problems.join("; ")}`, { problems }));
  }
  return Object.freeze({ ...settings(definition), ...forActs(definition), ...handlers(definition), input, output });
}

type Definition = ToolDefinition<SchemaDefinition, SchemaDefinition>;

function schemaOf(definition: Definition, side: "input" | "output"): Schema {
  try {
    return schemaFrom(definition[side]);
  } catch (thrown) {
    if (!(thrown instanceof FaultError)) throw thrown;
    throw new FaultError(fault(thrown.fault.code, `the ${side} of ${definition.name}: ${thrown.fault.message}`));
  }
}

function settings(definition: Definition) {
  const { name, effect } = definition;
  return {
    name,
    version: definition.version ?? "1",
    effect,
    description: definition.description ?? "",
    tags: [...new Set(definition.tags)],
    risk: definition.risk ?? (effect === "acts" ? "medium" : "low"),
    roles: definition.roles ?? [],
    preconditions: definition.preconditions ?? [],
    identity: definition.identity?.map(asPointer) ?? null,
    timeoutMs: definition.timeoutMs ?? timeoutMsDefault,
    heartbeatMs: definition.heartbeatMs ?? null,
    tries: definition.tries ?? null,
    cache: definition.cache ?? "never",
    cacheTtlMs: definition.cacheTtlMs ?? null,
    cost: costOf(definition),
    resources: definition.resources ?? {},
    stateReads: definition.stateReads?.map(asPointer) ?? null,
    stateWrites: definition.stateWrites?.map(asPointer) ?? null,
    redact: (definition.redact ?? []).map(asPointer),
  } as const;
}

function costOf(definition: Definition): Tool["cost"] {
  const { cost } = definition;
  if (cost === undefined) return null;
  return typeof cost === "function" ? (input) => cost.call(definition, input) : () => cost;
}

function forActs(definition: Definition) {
  return {
    settleAfterMs: definition.settleAfter ?? settleAfterDefault,
    confirm: definition.confirm ?? "none",
    idempotentForMs: definition.idempotent?.forMs ?? null,
    errorsMean: definition.errorsMean ?? "unknown",
    onDuplicate: definition.onDuplicate ?? "hold",
    safeIfAbsent: definition.safeIfAbsent ?? false,
  } as const;
}

/** Called on the definition, so that `this` is what its author expects; nothing is thrown past a promise. */
function handlers(definition: Definition) {
  const { verify, compensate, preview } = definition;
  return {
    // Not async: the promise of whoever answers with one would be waited for by a second.
    run: (input: Json, context: ToolContext): Promise<unknown> => {
      try {
        return Promise.resolve(definition.run(input, context));
      } catch (thrown) {
        return Promise.reject(thrown);
      }
    },
    preview:
      preview === undefined
        ? null
        : async (input: Json, context: Pick<ToolContext, "slice" | "signal" | "now">): Promise<unknown> =>
            preview.call(definition, input, context),
    // What a verifier returns is judged where it is used: its output must fit the schema.
    verify: verify === undefined ? null : async (probe: Probe) => (await verify.call(definition, probe)) as Sighting,
    compensate:
      compensate === undefined
        ? null
        : async (done: Done, context: ToolContext): Promise<unknown> => compensate.call(definition, done, context),
  };
}

/** `draftId` and `/draftId` are the same field. */
function asPointer(field: string): string {
  return field.startsWith("/") ? field : pointerTo("", field);
}
