import type { Snapshot } from "../core/state/snapshot.ts";
import type { RunId } from "../core/values/ids.ts";
import type { CheckOptions, PlanReport } from "../engine/api/check-api.ts";
import type { Engine, PrincipalInput, RunHandle } from "../engine/api/engine-api.ts";
import type { ListPage, RunChange } from "../engine/api/list-api.ts";
import type { OpenRunOptions } from "../engine/api/open-run-api.ts";
import type { RecordedSlice, StateView } from "../engine/api/state-api.ts";
import { assertNotAborted, cancelOnAbort } from "../engine/messages/cancel-on-abort.ts";
import { type ApiRoute, type ApiScope, apiName, renameFields, renameOptions } from "../http-api/api-route.ts";
import { apiRoutes } from "../http-api/api-routes.ts";
import { type ClientOptions, HttpCaller } from "./http-caller.ts";
import { readEventStream } from "./read-event-stream.ts";
import { remoteRun } from "./remote-run.ts";
import { type RemoteSession, remoteSession } from "./remote-session.ts";

/** Options without the principal, which the server knows by the credential. */
export type WithoutPrincipal<Options> = Options extends { readonly principal: unknown }
  ? Omit<Options, "principal">
  : Options;
/** The last argument of a verb without its principal; optional if nothing else is required. */
export type LastArgument<Options> =
  object extends WithoutPrincipal<Options>
    ? [options?: WithoutPrincipal<Options>]
    : [options: WithoutPrincipal<Options>];
/** A method of the engine as a client has it. */
export type ClientMethod<Method> = Method extends (...given: [...infer Given, infer Options]) => infer Result
  ? (...given: [...Given, ...LastArgument<Options>]) => Result
  : never;
/** Methods of a part of the engine as a client has them. */
export type ClientPart<Part, Names extends keyof Part> = { readonly [Name in Names]: ClientMethod<Part[Name]> };

/** Verbs that a client has with the arguments and answers of the engine. */
export type PlainVerbs =
  | "submit"
  | "simulate"
  | "signal"
  | "approve"
  | "reject"
  | "resolve"
  | "resume"
  | "undo"
  | "verify"
  | "gate"
  | "workers"
  | "outcome"
  | "act"
  | "cost"
  | "spent"
  | "spentByDay"
  | "budgets"
  | "audit"
  | "retain"
  | "forget"
  | "retentions"
  | "backups"
  | "runs"
  | "gates"
  | "inDoubt"
  | "outcomes"
  | "run";

/** The credential of a client, as the server knows it. */
export interface WhoAmI {
  readonly principal: PrincipalInput;
  readonly scopes: readonly ApiScope[];
}

/** The verbs of an engine, on a server. The server knows the principal by the credential, so no option names it. */
export interface WritClient extends ClientPart<Engine, PlainVerbs> {
  call(
    tool: string,
    input: unknown,
    options?: WithoutPrincipal<Parameters<Engine["submit"]>[1]>,
  ): ReturnType<Engine["call"]>;
  /** The state as data. Its slices are not read by their declarations. */
  state(options: WithoutPrincipal<Parameters<Engine["state"]>[0]>): Promise<Omit<StateView, "slice">>;
  check(plan: unknown, options?: Omit<CheckOptions, "principal">): Promise<PlanReport>;
  openRun(options: Omit<OpenRunOptions, "principal">): Promise<RemoteSession>;
  endCall: ClientMethod<Engine["endCall"]>;
  /** Yields a hint for each run of the list that has changed. Ends when the signal aborts or the connection is cut. */
  changes(options?: { readonly signal?: AbortSignal }): AsyncIterable<RunChange>;
  readonly checkpoints: ClientPart<Engine["checkpoints"], keyof Engine["checkpoints"]>;
  readonly projects: ClientPart<Engine["projects"], keyof Engine["projects"]>;
  readonly sessions: ClientPart<Engine["sessions"], keyof Engine["sessions"]>;
  readonly schedules: ClientPart<Engine["schedules"], keyof Engine["schedules"]>;
  readonly policies: ClientPart<Engine["policies"], keyof Engine["policies"]>;
  readonly halts: ClientPart<Engine["halts"], keyof Engine["halts"]>;
  readonly tools: ClientPart<Engine["tools"], "list" | "activity">;
  whoami(): Promise<WhoAmI>;
}

/** Makes a client of a server. Its methods have the names, arguments and answers of the engine. */
export function client(options: ClientOptions): WritClient {
  const caller = new HttpCaller(options);
  const methods: Record<string, unknown> = {};
  for (const route of apiRoutes) {
    const [part = "", name] = route.verb.split(".");
    if (part === "run" || part === "openRun") continue;
    if (name === undefined) methods[part] = verbMethod(caller, route);
    else {
      methods[part] ??= {};
      (methods[part] as Record<string, unknown>)[name] = verbMethod(caller, route);
    }
  }
  const submit = methods.submit as (plan: unknown, options: object) => Promise<RunHandle>;
  return {
    ...methods,
    submit: async (plan: unknown, { signal, ...given }: { readonly signal?: AbortSignal } = {}) => {
      assertNotAborted(signal);
      return cancelOnAbort(await submit(plan, given), signal);
    },
    run: async (runId: string) => {
      await caller.call("run.now", { run_id: runId });
      return remoteRun(caller, runId as RunId, true);
    },
    openRun: async (given: Omit<OpenRunOptions, "principal">) => {
      const { body } = await caller.call("openRun", renameOptions(given, apiName));
      return remoteSession(caller, body as Parameters<typeof remoteSession>[1]);
    },
    changes: (given: { readonly signal?: AbortSignal } = {}) => remoteChanges(caller, given.signal),
  } as unknown as WritClient;
}

/** Returns the method of a verb: sends its arguments to its route, and reads the answer. */
function verbMethod(caller: HttpCaller, route: ApiRoute): (...given: unknown[]) => Promise<unknown> {
  const names = route.given ?? [];
  return async (...given) => {
    const positional = names.map((name, at) => [name, argument(name, given[at])]);
    const options = renameOptions((given[names.length] as object | undefined) ?? {}, apiName);
    const { body } = await caller.call(route.verb, { ...options, ...Object.fromEntries(positional) });
    return readAnswer(caller, route.verb, body);
  };
}

function argument(name: string, value: unknown): unknown {
  const isCheckpoint = ["at", "from", "to"].includes(name) && typeof value === "object" && value !== null;
  return isCheckpoint ? renameFields(value, apiName) : value;
}

/** Returns the answer of a verb as the engine returns it. */
function readAnswer(caller: HttpCaller, verb: string, body: unknown): unknown {
  if (["submit", "resume", "checkpoints.fork"].includes(verb)) {
    const { run_id, attached } = body as Pick<RunHandle, "run_id" | "attached">;
    return remoteRun(caller, run_id, attached);
  }
  if (["runs", "gates", "inDoubt", "outcomes"].includes(verb)) {
    const { items, next, count } = body as {
      readonly items: readonly unknown[];
      readonly next: string | null;
      readonly count: number | null;
    };
    return Object.assign([...items], { next, count }) satisfies ListPage<unknown>;
  }
  return verb === "state" ? remoteState(body) : body;
}

function remoteState(body: unknown): Omit<StateView, "slice"> {
  const { version, at, slices, snapshot } = body as Pick<StateView, "version" | "at"> & {
    readonly slices: Readonly<Record<string, RecordedSlice>>;
    readonly snapshot: Snapshot;
  };
  return {
    version,
    at,
    all: () => slices,
    snapshot: ({ includeAll = false, policies = ["state"], tags = {} } = {}) => ({
      ...snapshot,
      tags,
      slices: Object.fromEntries(
        Object.entries(snapshot.slices).filter(([, { policy }]) => includeAll || policies.includes(policy)),
      ),
    }),
  };
}

async function* remoteChanges(caller: HttpCaller, signal: AbortSignal | undefined): AsyncGenerator<RunChange> {
  const response = await caller.open("stream", { lists: "runs" }, {}, signal);
  if (response.body === null) return;
  try {
    for await (const { event, data } of readEventStream(response.body))
      if (event === "change") yield JSON.parse(data) as RunChange;
  } catch (error) {
    if (!signal?.aborted) throw error;
  }
}
