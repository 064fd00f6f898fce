import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { dirname } from "node:path";
import { pathToFileURL } from "node:url";
import { FaultError, fault } from "../core/fault.ts";
import type { Json } from "../core/json/json.ts";
import type { Store } from "../core/store.ts";
import type { Tool } from "../core/tool.ts";
import type { EngineOptions, PrincipalInput } from "../engine/api.ts";
import { configProblems } from "./config-problems.ts";
import { faultIn } from "./foreign-fault.ts";
import { storeAddress } from "./store-address.ts";

export const configName = "writ.config.mjs";

/** What `writ.config.mjs` exports by default: what `createEngine` takes, with the store as a path if you like. */
interface Config
  extends Pick<
    EngineOptions,
    | "slices"
    | "resources"
    | "tenants"
    | "budgets"
    | "rates"
    | "zone"
    | "guards"
    | "policies"
    | "strictPlans"
    | "durability"
    | "limits"
    | "onNotice"
  > {
  /** A path, from where the config is; a Postgres URL; or an open store, or the promise of one. */
  readonly store?: string | Store | Promise<Store>;
  readonly tools?: readonly Tool[];
  /** Who proposes what `writ run` runs. */
  readonly principal?: PrincipalInput;
}

export interface LoadedConfig extends Config {
  readonly path: string;
}

/** Loads and checks a config, or throws CONFIG_INVALID with everything that is wrong with it. */
export async function loadConfig(path: string): Promise<LoadedConfig> {
  if (!existsSync(path)) {
    throw unusable(`there is no ${path}; create one with "writ init", or give its path with --config`);
  }
  const exported = await importFile(path);
  const problems = configProblems(exported);
  if (problems.length > 0) {
    throw unusable(`${path} cannot be used: ${problems.join("; ")}`, { problems });
  }
  const config = exported as Config;
  return typeof config.store === "string"
    ? { ...config, path, store: storeAddress(config.store, dirname(path)) }
    : { ...config, path };
}

async function importFile(path: string): Promise<unknown> {
  try {
    const module = (await import(pathToFileURL(path).href)) as { readonly default?: unknown };
    return module.default;
  } catch (thrown) {
    // A tool that contradicts itself or a store that cannot be opened says best itself what is wrong.
    const own = faultIn(thrown);
    if (own !== null) throw new FaultError({ ...own, message: `${path}: ${own.message}` }, { cause: thrown });
    throw unusable(`${path} cannot be loaded: ${whatFailed(thrown, path)}; mend it and try again`, undefined, thrown);
  }
}

function whatFailed(thrown: unknown, path: string): string {
  if (!(thrown instanceof Error)) return String(thrown);
  return thrown instanceof SyntaxError ? `${thrown.message}${lineOf(path)}` : thrown.message;
}

/** Where a file stops being JavaScript. The error of an import does not say; Node's own check does. */
function lineOf(path: string): string {
  const { stderr } = spawnSync(process.execPath, ["--check", path], { encoding: "utf8" });
  const where = /^[^\n]*:(\d+)\n/.exec(stderr);
  return where === null ? "" : ` (line ${where[1]})`;
}

export function unusable(message: string, detail?: Json, cause?: unknown): FaultError {
  return new FaultError(fault("CONFIG_INVALID", message, detail), { cause });
}
