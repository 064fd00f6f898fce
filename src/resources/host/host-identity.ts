import { readFileSync } from "node:fs";
import { hostname } from "node:os";

/** The machine that a tree is on, the same after a restart of it. */
export function hostIdentity(): string {
  try {
    return readFileSync("/etc/machine-id", "utf8").trim() || hostname();
  } catch {
    return hostname();
  }
}
