import { readFileSync } from "node:fs";
import { hostname } from "node:os";

/** Returns an id of this machine that survives a restart. */
export function machineIdentity(): string {
  try {
    return readFileSync("/etc/machine-id", "utf8").trim() || hostname();
  } catch {
    return hostname();
  }
}
