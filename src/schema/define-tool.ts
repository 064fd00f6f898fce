import { pointerTo } from "../core/json/json-pointer.ts";
import type { CostEstimate } from "../core/limits/budget.ts";
import type { Access } from "../core/ports/resource.ts";
import type { Schema } from "../core/ports/schema.ts";
import type {
  CachePolicy,
  ChangeProbe,
  CompletedAct,
  IdentityField,
  Probe,
  Sighting,
  Tool,
  ToolContext,
  ToolOf,
} from "../core/tool/tool.ts";
import { toolDefaults } from "../core/tool/tool-defaults.ts";
import type { Effect } from "../core/values/effect.ts";
import { FaultError, fault, notDone } from "../core/values/fault.ts";
import type { Json } from "../core/values/json.ts";
import type { TextForm } from "../core/values/normalize-text.ts";
import { type SchemaDefinition, type SchemaInput, type SchemaOutput, schemaFrom } from "./schema-from.ts";
import { defaultTimeoutMs, findToolProblems } from "./tool-problems.ts";

/** The definition of a tool. The effect is required; optional fields have safe defaults. */
export interface ToolDefinition<
  Input extends SchemaDefinition,
  Output extends SchemaDefinition,
  Result extends Returned<Output> = Returned<Output>,
  Previewed extends Returned<Output> = Returned<Output>,
  Found extends Returned<Output> = Returned<Output>,
> {
  /** The name by which plans and agents call it. */
  readonly name: string;
  /** A run uses the version that it was accepted with. Default: "1". */
  readonly version?: string;
  /** The worst thing that a call can do: `pure`, `reads`, `writes` or `acts`. */
  readonly effect: Effect;
  /** A sentence for people and models. */
  readonly description?: string;
  /** Names that policies use. Default: none. */
  readonly tags?: readonly string[];
  /** The risk that policies compare. Default: medium for acts, else low. */
  readonly risk?: Tool["risk"];
  /** The principal must have one of these roles. Default: no role is needed. */
  readonly roles?: readonly string[];
  /** True: a call is held until its requester confirms it, in advance (`confirmed`) or at the gate. Never an approval. */
  readonly confirmation?: boolean;
  /**
   * The fields of the input, by name or JSON pointer, that a person supplies if a call has none, and what each is in
   * words. The call waits at a gate that asks for them; the completed call is then judged like any other.
   */
  readonly asksFor?: Readonly<Record<string, string>>;
  /** Conditions that every call must satisfy, in the expression language of policies. `state` declares what they read. */
  readonly preconditions?: Tool["preconditions"];
  /** A JSON Schema or a Standard Schema such as one of zod. Every input is checked. */
  readonly input: Input;
  /** The schema of the output, which is checked, too. */
  readonly output: Output;
  /**
   * The fields of the input, by name or JSON pointer, that make two calls the same act. With `normalize`, texts that
   * differ only in form are the same; without it, they are compared byte for byte.
   */
  readonly identity?: readonly (string | { readonly field: string; readonly normalize: TextForm })[];
  /**
   * The milliseconds after which a call is aborted: `TOOL_TIMEOUT`, and an act is in doubt. Default: 30,000 (30 s), or
   * 600,000 (10 min) for a tool that asks a model. A step can set another (`timeout_ms`).
   */
  readonly timeoutMs?: number;
  /**
   * `model`: the tool asks a language model. Its default timeout is 10 minutes, and a timeout is not retried, because
   * each attempt is paid for.
   */
  readonly asks?: "model";
  /**
   * The longest time between two `context.heartbeat()` calls. After it, the call counts as lost, as after its timeout.
   */
  readonly heartbeatMs?: number;
  /**
   * The total number of attempts of a call after a fault that `retry` covers. Default: the number in the fault table
   * (`docs/errors.md`), or 4 after an error that `retry: "any"` covers. A step can set another (`retries`).
   */
  readonly tries?: number;
  /**
   * The failures after which a call is tried again. `named`: only the temporary faults of the fault table,
   * such as `RATE_LIMIT`. `any`: also every other error that the handler throws (`TOOL_FAILED`). An act needs
   * `errorsMean: "not_done"` for it. Default: named.
   */
  readonly retry?: Tool["retry"];
  /** Whether a recorded output may answer a later call with the same input. Default: never. */
  readonly cache?: CachePolicy;
  /** With the cache policy `ttl_only`: how long a recorded output may answer, in milliseconds. */
  readonly cacheTtlMs?: number;
  /**
   * `tenant`: a recorded output also answers the calls of other principals of the tenant, unless a call brings a handler
   * of its own. Only for outputs that do not depend on who asks. Default: principal.
   */
  readonly cacheShare?: Tool["cacheShare"];
  /**
   * The estimated cost of a call. It is reserved in the budgets that count it, and charged unless the handler reports
   * the actual cost. `{}`: no cost.
   */
  readonly cost?: CostEstimate | ((input: SchemaOutput<Input>) => CostEstimate);
  /**
   * The resources of the engine that the tool changes, by name. `handle`: only through `context.resource`. `raw`: also
   * directly, like a tool that starts a process. `watched`: another program changes it while the call waits; a failure
   * restores nothing.
   */
  readonly resources?: Readonly<Record<string, Access>>;
  /**
   * The state of the project that the tool reads: names of slices, or JSON pointers such as `/beds/north`.
   * Steps of a plan that conflict wait for each other. Access to any other state fails the call. Written state may also
   * be read.
   */
  readonly stateReads?: readonly string[];
  /** The state of the project that the tool writes, in the same form. */
  readonly stateWrites?: readonly string[];
  /** The fields of the output, by name or JSON pointer, that are stored only as digests. */
  readonly redact?: readonly string[];

  /** Acts: how long after its timeout the act can still take effect, in milliseconds. Default: 60,000. */
  readonly settleAfter?: number;
  /**
   * Acts: the reaction if `verify` does not find a recorded act before its result is reused, or before a step of its
   * resumed or restarted run relies on it. `strict` refuses the step, `gate` holds it, `warn` records it. Default: none.
   */
  readonly confirm?: Tool["confirm"];
  /** Acts: how long the receiver recognises the key and does not repeat the act. */
  readonly idempotent?: { readonly forMs: number };
  /** Acts: whether an error means that the act did not happen. Default: unknown. */
  readonly errorsMean?: Tool["errorsMean"];
  /** Acts: the reaction if another run has already done the same act. Default: hold. */
  readonly onDuplicate?: Tool["onDuplicate"];
  /** Acts: true if compensating an act that never happened does no harm. Default: false. */
  readonly safeIfAbsent?: boolean;
  /**
   * Acts of an open run: `safe` passes the signal of the caller (`callTool`) to the handler. A handler that then throws
   * the reason of its signal says that the act did not happen; any other end counts as always. Default: never, because
   * an act that is stopped in the middle would be in doubt.
   */
  readonly abort?: Tool["abort"];

  /**
   * Does the work. `external`: the host of an agent does it itself, between `beginCall` and `endCall`. Called in another
   * way, such as by a plan, such a tool waits (`TOOL_AWAY`).
   */
  readonly run: RunOf<Input, Result> | "external";
  /**
   * Acts, and tools with `resources`: returns the output that the call would have, without making it. For an act it may
   * read state and nothing else that can change; otherwise also the resources, and the call must return the same output.
   */
  preview?(
    input: SchemaOutput<Input>,
    context: Pick<ToolContext, "slice" | "signal" | "now">,
  ): Promise<Previewed> | Previewed;
  /** Acts: checks in the outside world whether the act happened. */
  verify?(probe: ProbeOf<Input, Output>): Promise<SightingOf<Found>> | SightingOf<Found>;
  /**
   * Acts: checks in the outside world whether a change that the handler recorded (`context.changed`) is still in effect.
   * `differs` says how the resource differs from the record.
   */
  verifyChange?(probe: ChangeProbeOf<Input>): Promise<ChangeSighting> | ChangeSighting;
  /** Acts: undoes the act. */
  compensate?(done: DoneOf<Input, Output>, context: ToolContext): unknown;
}

/** Taken from a method, so that tools with different inputs fit in one list. */
type RunOf<Input, Result> = {
  run(input: SchemaOutput<Input>, context: ToolContext): Promise<Result> | Result;
}["run"];

/**
 * The values that a handler may return: those that the output schema accepts. They are read-only, because literals keep
 * their types only in a constant type parameter. The primitives have the same purpose for an output that is no object.
 */
type Returned<Output> = Immutable<SchemaInput<Output>> & (string | number | boolean | object | null | undefined);

type Immutable<Type> = AnyJson extends Type
  ? Type
  : Type extends object
    ? { readonly [Key in keyof Type]: Immutable<Type[Key]> }
    : Type;

/** Mutable, so that it fits every recursive type of JSON. Such a type is not mapped, because that would not end. */
type AnyJson = null | boolean | number | string | AnyJson[] | { [key: string]: AnyJson };

export type ProbeOf<Input, Output> = Omit<Probe, "input" | "output"> & {
  readonly input: SchemaOutput<Input>;
  readonly output: SchemaOutput<Output> | null;
};

export type SightingOf<Found> =
  | { readonly saw: "happened"; readonly output: Found; readonly differs?: string }
  | Exclude<Sighting, { readonly saw: "happened" }>;

export type ChangeProbeOf<Input> = Omit<ChangeProbe, "input"> & { readonly input: SchemaOutput<Input> };

/** The answer of a verifier about a recorded change. */
export type ChangeSighting =
  | { readonly saw: "happened"; readonly differs?: string }
  | Exclude<Sighting, { readonly saw: "happened" }>;

export type DoneOf<Input, Output> = Omit<CompletedAct, "input" | "output"> & {
  readonly input: SchemaOutput<Input>;
  readonly output: SchemaOutput<Output> | null;
};

/** Makes a tool from its definition, or throws TOOL_INVALID with all problems. */
export function defineTool<
  const Input extends SchemaDefinition,
  const Output extends SchemaDefinition,
  const Result extends Returned<Output>,
  const Previewed extends Returned<Output>,
  const Found extends Returned<Output>,
>(
  definition: ToolDefinition<Input, Output, Result, Previewed, Found>,
): ToolOf<SchemaInput<Input>, SchemaOutput<Output>> {
  const input = schemaOf(definition, "input");
  const output = schemaOf(definition, "output");
  const problems = findToolProblems(definition, { input: input.json, output: output.json });
  if (problems.length > 0) {
    throw new FaultError(fault("TOOL_INVALID", `${definition.name}: ${problems.join("; ")}`, { problems }));
  }
  return Object.freeze({
    ...commonSettings(definition),
    ...actSettings(definition),
    ...handlers(definition),
    input,
    output,
  });
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

function commonSettings(definition: Definition) {
  const { name, effect } = definition;
  return {
    name,
    version: definition.version ?? "1",
    effect,
    description: definition.description ?? "",
    tags: [...new Set(definition.tags)],
    risk: definition.risk ?? (effect === "acts" ? "medium" : "low"),
    roles: definition.roles ?? [],
    confirmation: definition.confirmation ?? false,
    asksFor: asksForOf(definition),
    preconditions: definition.preconditions ?? [],
    identity: definition.identity?.map(toIdentityField) ?? null,
    timeoutMs: definition.timeoutMs ?? defaultTimeoutMs(definition.asks),
    asks: definition.asks ?? null,
    heartbeatMs: definition.heartbeatMs ?? null,
    tries: definition.tries ?? null,
    retry: definition.retry ?? "named",
    cache: definition.cache ?? "never",
    cacheTtlMs: definition.cacheTtlMs ?? null,
    cacheShare: definition.cacheShare ?? "principal",
    cost: costOf(definition),
    resources: definition.resources ?? {},
    stateReads: definition.stateReads?.map(toPointer) ?? null,
    stateWrites: definition.stateWrites?.map(toPointer) ?? null,
    redact: (definition.redact ?? []).map(toPointer),
    external: definition.run === "external",
  } as const;
}

function asksForOf({ asksFor = {} }: Definition): Tool["asksFor"] {
  return Object.fromEntries(Object.entries(asksFor).map(([field, what]) => [toPointer(field), what]));
}

function costOf(definition: Definition): Tool["cost"] {
  const { cost } = definition;
  if (cost === undefined) return null;
  return typeof cost === "function" ? (input) => cost.call(definition, input) : () => cost;
}

function actSettings(definition: Definition) {
  return {
    settleAfterMs: definition.settleAfter ?? toolDefaults.settleAfter,
    confirm: definition.confirm ?? "none",
    idempotentForMs: definition.idempotent?.forMs ?? null,
    errorsMean: definition.errorsMean ?? "unknown",
    onDuplicate: definition.onDuplicate ?? "hold",
    safeIfAbsent: definition.safeIfAbsent ?? false,
    abort: definition.abort ?? "never",
  } as const;
}

/** Makes handlers that are called on the definition, for `this`, and that reject instead of throwing. */
function handlers(definition: Definition) {
  const { verify, verifyChange, compensate, preview } = definition;
  return {
    // Not async, because that would wrap the promise of the handler in a second one.
    run: (input: Json, context: ToolContext): Promise<unknown> => {
      try {
        if (definition.run === "external") throw notDone("TOOL_AWAY", `the host of the agent does ${definition.name}`);
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
    // The caller checks the result of a verifier: its output must match the schema.
    verifyChange:
      verifyChange === undefined
        ? null
        : async (probe: ChangeProbe): Promise<Sighting> => {
            const seen = await verifyChange.call(definition, probe);
            return seen.saw === "happened" ? { ...seen, output: null } : seen;
          },
    verify: verify === undefined ? null : async (probe: Probe) => (await verify.call(definition, probe)) as Sighting,
    compensate:
      compensate === undefined
        ? null
        : async (done: CompletedAct, context: ToolContext): Promise<unknown> =>
            compensate.call(definition, done, context),
  };
}

function toIdentityField(given: NonNullable<Definition["identity"]>[number]): IdentityField {
  if (typeof given === "string") return { pointer: toPointer(given), normalize: null };
  return { pointer: toPointer(given.field), normalize: given.normalize };
}

/** Converts a field name to a JSON pointer: `draftId` and `/draftId` are the same field. */
function toPointer(field: string): string {
  return field.startsWith("/") ? field : pointerTo("", field);
}
