import { existsSync } from "node:fs";
import { resolve } from "node:path";
import type { Slice } from "../core/state/slice.ts";
import type { ClaimTerms, Store } from "../core/store/store.ts";
import type { Tool } from "../core/tool/tool.ts";
import { FaultError, fault } from "../core/values/fault.ts";
import type { Engine, EngineOptions, PrincipalInput } from "../engine/api/engine-api.ts";
import { commandToPaste } from "./command-to-paste.ts";
import { configInvalid, configNames, type LoadedConfig, loadConfig, type ServerSettings } from "./config.ts";
import type { ExitCode } from "./exit-code.ts";
import { faultFromError, hasFaultCode } from "./fault-from-error.ts";
import { type GlobalOptions, type Invocation, invalidInput } from "./invocation.ts";
import { openRemoteEngine, serverAddress } from "./remote-engine.ts";
import type { AdviceContext } from "./run-advice.ts";
import { line, type SafeLine } from "./safe-line.ts";
import { isPostgres, storeAddress } from "./store-address.ts";

const storeName = "writ.db";
const tenantName = "default";

export interface OpenOptions {
  /** Whether this process executes runs: yes, no, or only if no other process is known to. */
  readonly work: "yes" | "no" | "if_free";
  /** `tools` if the command needs the config's tools, `store` if it needs only the store. */
  readonly needs: "tools" | "store";
  /** The command begins runs, so a missing store is created and an older one is migrated. No other command does. */
  readonly createsStore?: true;
  /** The command works on the store itself, and not through a server. */
  readonly isLocal?: true;
  /** Slices that the command uses, besides those of the config. */
  readonly slices?: readonly Slice[];
  /** The command delivers notices to the recipients of the config, for as long as it runs. */
  readonly notifies?: { readonly url: Promise<string> | null; onProblem(message: string): void };
  /** The settings of a worker: a wrapper of its store, the number of tools that run at once, and the runs it takes. */
  readonly workerSettings?: { store(store: Store): Store; readonly concurrency?: number; readonly worker: ClaimTerms };
}

/** An engine on the store of the command line, with its principals. The caller closes the engine. */
export interface OpenedEngine extends AdviceContext {
  readonly engine: Engine;
  /** True if this process executes runs. */
  readonly works: boolean;
  readonly store: Store;
  /** Returns the time of the store. */
  now(): number;
  /** Returns whether a process executes the store now, or null if that is unknown. */
  isExecuted(): boolean | null;
  /** The person at the terminal. */
  readonly person: PrincipalInput;
  /** The principal that submits plans. */
  readonly proposer: PrincipalInput;
  readonly server: ServerSettings;
  /** Returns the names of the tenants of a local store, or none if they cannot be known. */
  tenants(): readonly string[];
}

/** Opens an engine, runs the work with it, and closes it, also after an error. */
export async function withEngine(
  invocation: Invocation,
  options: GlobalOptions,
  opening: OpenOptions,
  work: (opened: OpenedEngine) => Promise<ExitCode>,
): Promise<ExitCode> {
  const opened = await openEngine(invocation, options, opening);
  try {
    return await work(opened);
  } catch (error) {
    const isMissing = hasFaultCode(error, "RUN_NOT_FOUND") || hasFaultCode(error, "GATE_NOT_FOUND");
    if (isMissing) invocation.terminal.note(...otherTenantLines(opened));
    if (hasFaultCode(error, "HELD_FOR_APPROVAL")) invocation.terminal.note(...heldLines(error, opened));
    throw error;
  } finally {
    await opened.engine.close();
  }
}

async function openEngine({ host }: Invocation, options: GlobalOptions, opening: OpenOptions): Promise<OpenedEngine> {
  const address = serverAddress(options, host);
  if (address !== null && !opening.isLocal) return openRemoteEngine(address, options, host);
  if (options.server !== undefined)
    throw invalidInput("this command works on the store itself; run it on the machine of the server, without --server");
  const config = await loadConfigFor(options, host.cwd, opening.needs);
  const { store, ...local } = await openStore(options, host.cwd, config, opening);
  const proposer = proposerOf(options, config);
  const { tenant } = proposer;
  return {
    ...(await createEngineOn(store, config, opening, local.isExecuted)),
    ...local,
    store,
    now: () => store.clock.now(),
    person: { id: options.as ?? host.user, kind: "person", tenant, ...(options.role && { roles: options.role }) },
    proposer,
    server: config?.server ?? {},
    commandLine: commandToPaste(host, options),
    canExecute: findConfig(options, host.cwd) !== null,
    adminRole: config?.tenants?.[tenant]?.admin ?? null,
    tool: (name) => config?.tools?.find((tool) => tool.name === name),
  };
}

/** Says how the gate of a held command is shown and decided. */
function heldLines(error: unknown, { commandLine }: OpenedEngine): readonly SafeLine[] {
  const { gate_id, run_id } = (faultFromError(error)?.detail ?? {}) as Readonly<Record<"gate_id" | "run_id", string>>;
  return [
    line`  show it:     ${commandLine("gates")}`,
    line`  approve it:  ${commandLine("approve", gate_id)} --as <another person>`,
    line`  execute it:  ${commandLine("resume", run_id)}, unless a worker runs`,
  ];
}

/** Says which other tenants a local store has, and how to choose one. */
export function otherTenantLines({ tenants, person }: OpenedEngine): readonly SafeLine[] {
  const others = tenants().filter((tenant) => tenant !== person.tenant);
  const [only] = others;
  if (only === undefined) return [];
  const choice = others.length === 1 ? only : "<tenant>";
  return [line`this store has runs of ${others.join(", ")}; choose with --tenant ${choice}`];
}

/** Returns the principal that submits plans, in the tenant of the command line. */
export function proposerOf({ tenant }: GlobalOptions, config: LoadedConfig | null): PrincipalInput {
  const proposer = config?.principal ?? { id: "agent", kind: "agent", tenant: tenantName };
  return { ...proposer, tenant: tenant ?? proposer.tenant };
}

/** Loads the config, or returns null if a command that needs only the store finds none. */
async function loadConfigFor(
  options: GlobalOptions,
  cwd: string,
  needs: OpenOptions["needs"],
): Promise<LoadedConfig | null> {
  if (needs === "tools") return loadConfigWithTools(options, cwd);
  if (options.config === undefined && options.store !== undefined) return null;
  const path = findConfig(options, cwd);
  return path === null ? null : loadConfig(path);
}

/** Returns the path of the config that the command line names or, if it names none, of the one in this directory. */
export function findConfig({ config }: GlobalOptions, cwd: string): string | null {
  if (config !== undefined) return resolve(cwd, config);
  return configNames.map((name) => resolve(cwd, name)).find((path) => existsSync(path)) ?? null;
}

/** Loads a config that must have tools. */
export async function loadConfigWithTools(
  options: GlobalOptions,
  cwd: string,
): Promise<LoadedConfig & { readonly tools: readonly Tool[] }> {
  const config = await loadConfig(findConfig(options, cwd) ?? resolve(cwd, configNames[0]));
  const { path, tools } = config;
  if (tools === undefined)
    throw configInvalid(`${path} has no tools; add tools: [defineTool({ ... })] to its default export`);
  return { ...config, tools };
}

/** Returns the address of the store, or null if the config opens the store itself. */
export async function storeAddressFor(options: GlobalOptions, cwd: string): Promise<string | null> {
  const address = options.store ?? (await loadConfigFor(options, cwd, "store"))?.store ?? storeName;
  return typeof address === "string" ? storeAddress(address, cwd) : null;
}

/** On a store that this process cannot look into, a principal knows only its own tenant. */
const remote = { isExecuted: () => null, tenants: () => [] } as const;

async function openStore(
  options: GlobalOptions,
  cwd: string,
  config: LoadedConfig | null,
  opening: OpenOptions,
): Promise<Pick<OpenedEngine, "store" | "isExecuted" | "tenants">> {
  const named = options.store === undefined ? config?.store : storeAddress(options.store, cwd);
  if (named !== undefined && typeof named !== "string") return { store: await named, ...remote };
  const path = named ?? resolve(cwd, storeName);
  if (isPostgres(path)) {
    const { postgres } = await import("../store/postgres/postgres-store.ts");
    return { store: await postgres(path), ...remote };
  }
  const create = opening.createsStore ?? false;
  if (create || existsSync(path)) return openFile(path, create);
  // A command that needs the tools, and the record only if there is one, gets an empty store.
  if (opening.needs === "tools") {
    const { memoryStore } = await import("../store/memory/memory-store.ts");
    return { store: memoryStore(), ...remote };
  }
  // Opening a missing store would create an empty one, so a mistyped path would look like a store without runs.
  const message = `there is no store ${path}; run a plan first, change to the directory of ${configNames[0]}, or give the path with --store`;
  throw new FaultError(fault("STORE_UNUSABLE", message));
}

async function openFile(
  path: string,
  create: boolean,
): Promise<Pick<OpenedEngine, "store" | "isExecuted" | "tenants">> {
  const { sqlite } = await import("../store/sqlite/sqlite-store.ts");
  const { hasWorker } = await import("../store/sqlite/worker-locks.ts");
  const { listTenants } = await import("../store/sqlite/list-tenants.ts");
  return {
    store: await sqlite(path, { create }),
    isExecuted: () => hasWorker(path),
    tenants: () => listTenants(path),
  };
}

async function createEngineOn(
  store: Store,
  config: LoadedConfig | null,
  { work, workerSettings, notifies, slices = [] }: OpenOptions,
  isExecuted: OpenedEngine["isExecuted"],
): Promise<Pick<OpenedEngine, "engine" | "works">> {
  const {
    path: _path,
    principal: _principal,
    server: _server,
    store: _store,
    tools = [],
    notify,
    onNotice,
    limits,
    ...rest
  } = config ?? { path: "" };
  const engineLimits = {
    ...limits,
    ...(workerSettings?.concurrency !== undefined && { concurrency: workerSettings.concurrency }),
  };
  const { worker = {} } = workerSettings ?? {};
  const works = work === "yes" || (work === "if_free" && isExecuted() !== true);
  try {
    const { createEngine } = await import("../engine/engine.ts");
    const engine = await createEngine({
      ...rest,
      ...(await noticeOptions(notify, onNotice, notifies)),
      slices: [...(rest.slices ?? []), ...slices],
      limits: engineLimits,
      store: workerSettings?.store(store) ?? store,
      tools,
      work: works,
      worker,
    });
    return { engine, works };
  } catch (error) {
    await store.close();
    throw error;
  }
}

/**
 * Returns how an engine delivers notices. With recipients, only commands that run for long deliver: each of them sends a
 * recipient one message per minute at most.
 */
async function noticeOptions(
  notify: LoadedConfig["notify"],
  onNotice: LoadedConfig["onNotice"],
  notifies: OpenOptions["notifies"],
): Promise<Pick<EngineOptions, "onNotice" | "gateNotices">> {
  if (notify === undefined) return onNotice === undefined ? {} : { onNotice };
  if (notifies === undefined) return { gateNotices: true };
  const { notifyPeople } = await import("../notify/notify-people.ts");
  const { recipients } = notify;
  if (notify.url === undefined && notifies.url === null)
    throw configInvalid("notify.url is missing: give the address of the server that messages link to");
  // The address of a server is known once it listens. No message is sent before that.
  const options = { recipients, url: notify.url ?? "http://localhost", onProblem: notifies.onProblem };
  const tell = await notifyPeople(options);
  return {
    gateNotices: true,
    onNotice: async (notice) => {
      options.url = notify.url ?? (await notifies.url) ?? options.url;
      await tell(notice);
      await onNotice?.(notice);
    },
  };
}
