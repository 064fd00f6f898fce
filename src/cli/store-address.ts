import { resolve } from "node:path";

/** Where a store is, as someone wrote it: a Postgres URL stays what it is, anything else is a path from a folder. */
export function storeAddress(written: string, from: string): string {
  return isPostgres(written) ? written : resolve(from, written);
}

export function isPostgres(address: string): boolean {
  return /^postgres(?:ql)?:\/\//.test(address);
}

/** What may be shown: a URL without its password. */
export function shownAddress(address: string): string {
  return isPostgres(address) ? address.replace(/^(\w+:\/\/[^:@/]*):[^@/]*@/, "$1@") : address;
}
