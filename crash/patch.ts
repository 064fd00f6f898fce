/** One small change to a file of the built package. */
export interface Patch {
  readonly file: string;
  /** Stands in the file exactly once, or the source has moved and the mutant must be mended. */
  readonly from: string;
  readonly to: string;
}

/** The text of a file with what there is to change in it. */
export function patched(file: string, text: string, patches: readonly Patch[]): string {
  let changed = text;
  for (const { from, to } of patches.filter((patch) => patch.file === file)) {
    const times = changed.split(from).length - 1;
    if (times !== 1) throw new Error(`${file} has ${times} places for this bug, not one: ${from}`);
    changed = changed.replace(from, () => to);
  }
  return changed;
}
