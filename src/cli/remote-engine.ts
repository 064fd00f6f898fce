import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import type { Store } from "../core/store/store.ts";
import type { Engine } from "../engine/api/engine-api.ts";
import { commandToPaste } from "./command-to-paste.ts";
import { type GlobalOptions, invalidInput } from "./invocation.ts";
import type { ProgramProcess } from "./program-process.ts";

/** Returns the address of the server that the command line or the environment names, or null for a local store. */
export function serverAddress({ server, store, config }: GlobalOptions, { env }: ProgramProcess): string | null {
  if (server !== undefined) return server;
  return store === undefined && config === undefined ? (env.WRIT_SERVER ?? null) : null;
}

/** Opens the engine of a server. The credential says who sends the requests, so no option does. */
export async function openRemoteEngine(url: string, options: GlobalOptions, host: ProgramProcess) {
  for (const name of ["store", "config", "as", "role", "tenant"] as const)
    if (options[name] !== undefined)
      throw invalidInput(
        `--${name} and --server exclude each other; the token says who you are, and the server has the store`,
      );
  const { client } = await import("../client/client.ts");
  const remote = client({ url, token: readToken(host) });
  const { principal } = await remote.whoami();
  // Only people and services may list workers.
  const workers = await remote.workers().then(
    (report) => report.workers.length > 0,
    () => null,
  );
  return {
    engine: { ...engineOf(remote), close: async () => {} },
    works: false,
    get store(): Store {
      throw invalidInput("this command needs the store itself; run it on the machine of the server, without --server");
    },
    now: () => Date.now(),
    isExecuted: () => workers,
    tenants: () => [],
    person: principal,
    proposer: principal,
    server: {},
    commandLine: commandToPaste(host, options),
    canExecute: false,
    adminRole: null,
    tool: () => undefined,
  };
}

/** Returns the token from the environment: its text, or the file that has it. */
function readToken({ env, cwd }: ProgramProcess): string {
  const { WRIT_TOKEN: token, WRIT_TOKEN_FILE: file } = env;
  if (token !== undefined) return token;
  if (file === undefined)
    throw invalidInput("set WRIT_TOKEN to an API key of the server, or WRIT_TOKEN_FILE to a file with one");
  try {
    return readFileSync(resolve(cwd, file), "utf8").trim();
  } catch {
    throw invalidInput(`the file ${file} of WRIT_TOKEN_FILE cannot be read`);
  }
}

type Method = (...given: readonly unknown[]) => unknown;

/** Returns a client as an engine: its verbs leave out the principal, which the server knows. */
function engineOf(remote: object): Engine {
  const verbs = Object.entries(remote).map(([name, part]) => [
    name,
    typeof part === "function" ? withoutPrincipal(part as Method) : engineOf(part as object),
  ]);
  return Object.fromEntries(verbs) as unknown as Engine;
}

function withoutPrincipal(method: Method): Method {
  return (...given) =>
    method(
      ...given.map((argument, at) => {
        const isOptions = at === given.length - 1 && typeof argument === "object" && argument !== null;
        if (!isOptions) return argument;
        const { principal: _principal, runAs: _runAs, ...rest } = argument as Readonly<Record<string, unknown>>;
        return rest;
      }),
    );
}
