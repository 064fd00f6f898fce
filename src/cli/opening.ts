import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { FaultError, fault } from "../core/fault.ts";
import type { ClaimTerms, Store } from "../core/store.ts";
import type { Tool } from "../core/tool.ts";
import type { Engine, PrincipalInput } from "../engine/api.ts";
import { createEngine } from "../engine/engine.ts";
import { memoryStore } from "../store/memory/memory-store.ts";
import { postgres } from "../store/postgres/postgres-store.ts";
import { sqlite } from "../store/sqlite/sqlite-store.ts";
import { hasWorker } from "../store/sqlite/worker-lock.ts";
import { configName, type LoadedConfig, loadConfig, unusable } from "./config.ts";
import type { ExitCode } from "./exit-code.ts";
import { isFault } from "./foreign-fault.ts";
import { type Host, quoted } from "./host.ts";
import type { GlobalOptions, Invocation } from "./invocation.ts";
import { isPostgres, shownAddress, storeAddress } from "./store-address.ts";

const storeName = "writ.db";
const tenantName = "default";

export interface Opening {
  /** Whether this process executes: yes or STORE_BUSY, no, or only if no other process does. */
  readonly work: "yes" | "no" | "if_free";
  /** Whether the command means anything without the config's tools. */
  readonly needs: "tools" | "store";
  /** Something is put on the record, so that the store is made if it is not there. */
  readonly keeps?: true;
  /** What a worker sees to: what passes through its store, how many tools run at once, and which runs it takes. */
  readonly around?: { store(store: Store): Store; readonly concurrency?: number; readonly worker: ClaimTerms };
}

/** An engine on the store that the user meant, and who speaks. Close the engine when done. */
export interface Opened {
  readonly engine: Engine;
  /** Whether this process executes. */
  readonly works: boolean;
  readonly store: Store;
  /** Whether a process executes the store now; null where that cannot be told. */
  isExecuted(): boolean | null;
  /** The person at the terminal. */
  readonly person: PrincipalInput;
  /** Who proposes plans. */
  readonly proposer: PrincipalInput;
  /** The command line that does something else to the same store. */
  commandLine(...words: readonly string[]): string;
}

/** Opens for the length of one piece of work, and closes whatever happens. */
export async function opened(
  invocation: Invocation,
  options: GlobalOptions,
  opening: Opening,
  work: (opened: Opened) => Promise<ExitCode>,
): Promise<ExitCode> {
  const it = await open(invocation, options, opening);
  try {
    return await work(it);
  } finally {
    await it.engine.close();
  }
}

async function open({ host }: Invocation, options: GlobalOptions, opening: Opening): Promise<Opened> {
  const config = await configFor(options, host.cwd, opening.needs);
  const { store, isExecuted } = await storeFor(options, host.cwd, config, opening);
  const proposer = proposerOf(options, config);
  return {
    ...(await engineOn(store, config, opening)),
    store,
    isExecuted,
    person: { id: options.as ?? host.user, kind: "person", tenant: proposer.tenant },
    proposer,
    commandLine: commandLineOf(host, options),
  };
}

/** Who proposes, in the tenant that was asked for. */
export function proposerOf({ tenant }: GlobalOptions, config: LoadedConfig | null): PrincipalInput {
  const proposer = config?.principal ?? { id: "agent", kind: "agent", tenant: tenantName };
  return { ...proposer, tenant: tenant ?? proposer.tenant };
}

/** What only looks at a store needs no config; one that is there still says where the store is. */
async function configFor(options: GlobalOptions, cwd: string, needs: Opening["needs"]): Promise<LoadedConfig | null> {
  const path = resolve(cwd, options.config ?? configName);
  const optional = needs === "store" && options.config === undefined;
  if (optional && (options.store !== undefined || !existsSync(path))) return null;
  return needs === "tools" ? configWithTools(options, cwd) : loadConfig(path);
}

/** For what is about the config's tools, whatever store they are used on. */
export async function configWithTools(
  options: GlobalOptions,
  cwd: string,
): Promise<LoadedConfig & { readonly tools: readonly Tool[] }> {
  const config = await loadConfig(resolve(cwd, options.config ?? configName));
  const { path, tools } = config;
  if (tools === undefined) throw unusable(`${path} has no tools; add tools: [defineTool({ ... })] to what it exports`);
  return { ...config, tools };
}

/** The address that was asked for, or null where the config opens its store itself. */
export async function addressFor(options: GlobalOptions, cwd: string): Promise<string | null> {
  const named = options.store ?? (await configFor(options, cwd, "store"))?.store ?? storeName;
  return typeof named === "string" ? storeAddress(named, cwd) : null;
}

async function storeFor(
  options: GlobalOptions,
  cwd: string,
  config: LoadedConfig | null,
  opening: Opening,
): Promise<Pick<Opened, "store" | "isExecuted">> {
  const named = options.store === undefined ? config?.store : storeAddress(options.store, cwd);
  if (named !== undefined && typeof named !== "string") return { store: await named, isExecuted: () => null };
  const path = named ?? resolve(cwd, storeName);
  if (isPostgres(path)) return { store: await postgres(path), isExecuted: () => null };
  if (opening.work === "yes" || opening.keeps || existsSync(path))
    return { store: sqlite(path), isExecuted: () => hasWorker(path) };
  // What is about the tools, and about a record only if there is one, finds an empty one.
  if (opening.needs === "tools") return { store: memoryStore(), isExecuted: () => null };
  // Looking into a store that is not there would create an empty one and find nothing: a typo must not look like that.
  const message = `there is no store ${path}; run a plan first, go where ${configName} is, or give the path with --store`;
  throw new FaultError(fault("STORE_UNUSABLE", message));
}

async function engineOn(
  store: Store,
  config: LoadedConfig | null,
  { work, around }: Opening,
): Promise<Pick<Opened, "engine" | "works">> {
  const { path: _path, principal: _principal, store: _store, tools = [], ...settings } = config ?? { path: "" };
  const { limits, ...rest } = settings;
  const within = { ...limits, ...(around?.concurrency !== undefined && { concurrency: around.concurrency }) };
  const { worker = {} } = around ?? {};
  const engine = (works: boolean) =>
    createEngine({ ...rest, limits: within, store: around?.store(store) ?? store, tools, work: works, worker });
  try {
    if (work !== "no") return { engine: await engine(true), works: true };
  } catch (error) {
    if (work !== "if_free" || !isFault(error, "STORE_BUSY")) {
      await store.close();
      throw error;
    }
  }
  return { engine: await engine(false), works: false };
}

/** What to type to do something else to the same store and tenant. */
export function commandLineOf({ self }: Host, { config, store, tenant }: GlobalOptions): Opened["commandLine"] {
  const shown = store === undefined ? undefined : shownAddress(store);
  const repeated = Object.entries({ config, store: shown, tenant }).flatMap(([name, value]) =>
    value === undefined ? [] : [`--${name}`, value],
  );
  return (...words) => [self, ...[...words, ...repeated].map(quoted)].join(" ");
}
