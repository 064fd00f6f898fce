/** A text replacement in a file of the built package. */
export interface SourcePatch {
  readonly file: string;
  /** Must occur exactly once in the file; otherwise the patch has to be updated. */
  readonly from: string;
  readonly to: string;
}

/** Returns the text of a file with its patches applied. */
export function applySourcePatches(file: string, text: string, patches: readonly SourcePatch[]): string {
  let changed = text;
  for (const { from, to } of patches.filter((patch) => patch.file === file)) {
    const times = changed.split(from).length - 1;
    if (times !== 1) throw new Error(`${file} contains this text ${times} times instead of once: ${from}`);
    changed = changed.replace(from, () => to);
  }
  return changed;
}
