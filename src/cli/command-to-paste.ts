import type { GlobalOptions } from "./invocation.ts";
import { type ProgramProcess, shellQuoted } from "./program-process.ts";
import { shownAddress } from "./store-address.ts";

/** Makes a command line that a person can paste into a shell. */
export type CommandLine = (...words: readonly string[]) => string;

/** Returns a function that makes command lines for the same config, store, tenant and roles. */
export function commandToPaste(
  { self }: Pick<ProgramProcess, "self">,
  { config, store, server, tenant, role = [] }: GlobalOptions,
): CommandLine {
  const shown = store === undefined ? undefined : shownAddress(store);
  const repeated = Object.entries({ config, store: shown, server, tenant }).flatMap(([name, value]) =>
    value === undefined ? [] : [`--${name}`, value],
  );
  return (...words) => {
    const roles = role.filter((name) => !words.includes(name)).flatMap((name) => ["--role", name]);
    return [self, ...[...words, ...roles, ...repeated].map(shellQuoted)].join(" ");
  };
}
