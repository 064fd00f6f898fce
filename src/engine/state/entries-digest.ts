import { hash } from "node:crypto";
import { canonicalJson } from "../../core/json/canonical-json.ts";
import type { TreeSummary } from "../../core/persistent/trie-map.ts";
import type { Entries } from "../../core/state/project-state.ts";
import type { Digest } from "../../core/values/ids.ts";
import type { Json } from "../../core/values/json.ts";

const mapSummary: TreeSummary<readonly [string, Json], string> = {
  known: new WeakMap(),
  ofParts: (entries) => sum(`entries${canonicalJson(entries)}`),
  ofBranch: (sums) => sum(`branch${sums.join(",")}`),
};
const listSummary: TreeSummary<Json, string> = {
  known: new WeakMap(),
  ofParts: (items) => sum(`items${canonicalJson(items)}`),
  ofBranch: (sums) => sum(`branch${sums.join(",")}`),
};

/**
 * Returns the digest of the entries of a slice. Equal entries have equal digests, however they came about. After a
 * change, only the parts on its path are hashed again.
 */
export function digestOfEntries(entries: Entries): Digest {
  const { shape } = entries;
  const whole = entries.shape === "list" ? entries.items.summarize(listSummary) : entries.items.summarize(mapSummary);
  return sum(`${shape}${whole ?? ""}`) as Digest;
}

function sum(text: string): string {
  return hash("sha256", `\u0003writ/entries/v1${text}`);
}
