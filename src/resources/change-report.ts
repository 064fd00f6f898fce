import type { ResourceChange, ResourceClosing } from "../core/ports/resource.ts";

const changesShown = 100;

/** Returns the part of a closing that describes its changes. */
export function changeReport(changes: readonly ResourceChange[]): Omit<ResourceClosing, "digest"> {
  const count = (wanted: ResourceChange["change"]) => changes.filter(({ change }) => change === wanted).length;
  const shown = changes.slice(0, changesShown).map(({ path, change }) => ({ path, change }));
  return { changed: changes.length, added: count("added"), removed: count("removed"), changes: shown };
}
