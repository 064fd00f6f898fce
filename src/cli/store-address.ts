import { resolve } from "node:path";
import { invalidInput } from "./invocation.ts";

/** Returns the address of a store: a Postgres URL unchanged, or the absolute path of a file. Refuses any other URL. */
export function storeAddress(written: string, from: string): string {
  if (isPostgres(written)) return written;
  if (written === ":memory:")
    throw invalidInput("a store in memory ends with the command; give the path of a SQLite file");
  const scheme = /^[a-z][a-z\d+.-]*:\/\//i.exec(written)?.[0];
  if (scheme === undefined) return resolve(from, written);
  throw invalidInput(`a store cannot be a ${scheme} URL; give the path of a SQLite file, or a postgres:// URL`);
}

export function isPostgres(address: string): boolean {
  return /^postgres(?:ql)?:\/\//.test(address);
}

/** Returns the address for output: a URL without its password. */
export function shownAddress(address: string): string {
  return isPostgres(address) ? address.replace(/^(\w+:\/\/[^:@/]*):[^@/]*@/, "$1@") : address;
}
