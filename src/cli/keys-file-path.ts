import { resolve } from "node:path";
import type { GlobalOptions } from "./invocation.ts";
import { isPostgres } from "./store-address.ts";
import { storeAddressFor } from "./with-engine.ts";

/** Returns the path of the file of keys: the one given, or one beside the store, or in this directory. */
export async function keysFilePath(given: string | undefined, options: GlobalOptions, cwd: string): Promise<string> {
  if (given !== undefined) return resolve(cwd, given);
  const address = await storeAddressFor(options, cwd);
  return address === null || isPostgres(address) ? resolve(cwd, "writ.keys.json") : `${address}.keys.json`;
}
