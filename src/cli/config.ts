import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { dirname } from "node:path";
import { pathToFileURL } from "node:url";
import type { Store } from "../core/store/store.ts";
import type { Tool } from "../core/tool/tool.ts";
import { FaultError, fault } from "../core/values/fault.ts";
import type { Json } from "../core/values/json.ts";
import type { EngineOptions, PrincipalInput } from "../engine/api/engine-api.ts";
import type { NotifySettings } from "../notify/notify-people.ts";
import type { DemoSupervisor } from "../server/demo-routes.ts";
import type { OidcOptions } from "../server/oidc.ts";
import { configProblems } from "./config-problems.ts";
import { faultFromError } from "./fault-from-error.ts";
import { storeAddress } from "./store-address.ts";

/** The names under which a config is found, in this order. */
export const configNames = ["writ.config.mjs", "writ.config.ts"] as const;

/** The default export of `writ.config.mjs`: options of `createEngine`, where the store may also be a path. */
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
    | "observers"
  > {
  /** A path relative to the config, a Postgres URL, or an open store or a promise of one. */
  readonly store?: string | Store | Promise<Store>;
  readonly tools?: readonly Tool[];
  /** The principal that `writ run` submits plans as. */
  readonly principal?: PrincipalInput;
  /** The recipients of messages about waiting gates, acts in doubt, budgets and parked runs. */
  readonly notify?: NotifyConfig;
  /** The settings of `writ serve`. */
  readonly server?: ServerSettings;
}

/** Without `url`, messages of `writ serve` link to the address of the server. */
type NotifyConfig = Pick<NotifySettings, "recipients"> & Partial<Pick<NotifySettings, "url">>;

export interface ServerSettings {
  /** The issuer of the tokens of people. */
  readonly oidc?: OidcOptions;
  /** The supervisor of the demo that starts this server. */
  readonly demo?: DemoSupervisor;
}

export interface LoadedConfig extends Config {
  readonly path: string;
}

/** Loads and checks a config, or throws CONFIG_INVALID with all problems. */
export async function loadConfig(path: string): Promise<LoadedConfig> {
  if (!existsSync(path)) {
    throw configInvalid(`there is no ${path}; create one with "writ init", or give its path with --config`);
  }
  const exported = await importFile(path);
  const problems = configProblems(exported);
  if (problems.length > 0) {
    throw configInvalid(`${path} cannot be used: ${problems.join("; ")}`, { problems });
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
    // The fault of a tool definition or of a store is more precise than CONFIG_INVALID.
    const own = faultFromError(thrown);
    if (own !== null) throw new FaultError({ ...own, message: `${path}: ${own.message}` }, { cause: thrown });
    throw configInvalid(
      `${path} cannot be loaded: ${loadErrorText(thrown, path)}; fix it and try again`,
      undefined,
      thrown,
    );
  }
}

function loadErrorText(thrown: unknown, path: string): string {
  if (!(thrown instanceof Error)) return String(thrown);
  if ("code" in thrown && thrown.code === "ERR_UNKNOWN_FILE_EXTENSION" && /\.[cm]?ts$/.test(path))
    return `Node ${process.versions.node} does not load TypeScript; use Node 22.18 or later, or set NODE_OPTIONS="--import tsx" with tsx installed`;
  return thrown instanceof SyntaxError ? `${thrown.message}${syntaxErrorLine(path)}` : thrown.message;
}

/** Returns the line of a syntax error. The error of an import does not contain it, but `node --check` prints it. */
function syntaxErrorLine(path: string): string {
  const { stderr } = spawnSync(process.execPath, ["--check", path], { encoding: "utf8" });
  const where = /^[^\n]*:(\d+)\n/.exec(stderr);
  return where === null ? "" : ` (line ${where[1]})`;
}

export function configInvalid(message: string, detail?: Json, cause?: unknown): FaultError {
  return new FaultError(fault("CONFIG_INVALID", message, detail), { cause });
}
