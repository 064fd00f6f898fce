import type { VNode } from "preact";
import { isJsonObject, type Json } from "../../src/core/values/json.ts";
import { DiffLines } from "./diff-view.tsx";
import { JsonView } from "./json-view.tsx";
import { type DiffTextLine, parseDiffText } from "./parse-diff-text.ts";

/** The output of a tool. A difference in its field `diff` is shown line by line, and the other fields as JSON. */
export function OutputView({
  value,
  label,
  foldFrom,
  canCopy,
}: {
  readonly value: Json | undefined;
  readonly label: string;
  readonly foldFrom?: number;
  readonly canCopy?: boolean;
}): VNode {
  const { rest, diff } = splitOutput(value);
  return (
    <>
      {diff !== null && <DiffLines lines={diff} label={`Difference of ${label}`} />}
      <JsonView
        value={rest}
        label={label}
        {...(foldFrom !== undefined && { foldFrom })}
        {...(canCopy !== undefined && { canCopy })}
      />
    </>
  );
}

function splitOutput(value: Json | undefined): {
  readonly rest: Json | undefined;
  readonly diff: readonly DiffTextLine[] | null;
} {
  if (value === undefined || !isJsonObject(value) || typeof value.diff !== "string") return { rest: value, diff: null };
  const diff = parseDiffText(value.diff);
  if (diff === null) return { rest: value, diff };
  const { diff: _, ...rest } = value;
  return { rest, diff };
}
