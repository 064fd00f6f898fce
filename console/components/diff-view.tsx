import type { VNode } from "preact";
import { useMemo, useState } from "preact/hooks";
import type { DiffTextLine } from "./parse-diff-text.ts";
import { SafeText } from "./safe-text.tsx";
import { type DiffLine, textDiff } from "./text-diff.ts";

/** A line of a difference that was made here, or of one that a tool wrote, which has no numbers. */
type ShownLine = DiffLine | DiffTextLine;

/** More lines than these are shown when the reader asks for them. */
const linesShown = 400;

/** The difference of two texts. Null: there is no text on that side, so that all of the other is added or removed. */
export function DiffView({
  before,
  after,
  label,
}: {
  readonly before: string | null;
  readonly after: string | null;
  readonly label: string;
}): VNode {
  const lines = useMemo(() => textDiff(before ?? "", after ?? ""), [before, after]);
  return <DiffLines lines={lines} label={label} />;
}

/** The lines of a difference. */
export function DiffLines({ lines, label }: { readonly lines: readonly ShownLine[]; readonly label: string }): VNode {
  const [count, setCount] = useState(linesShown);
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls needs the keyboard
    <section class="diff" aria-label={label} tabIndex={0}>
      {lines.slice(0, count).map((line, at) => (
        <DiffRow key={at} line={line} />
      ))}
      {lines.length > count && (
        <button type="button" class="json-fold" onClick={() => setCount(count + 10 * linesShown)}>
          {lines.length - count} more lines
        </button>
      )}
    </section>
  );
}

const marks = { added: "+", removed: "−", same: " " } as const;

function DiffRow({ line }: { readonly line: ShownLine }): VNode {
  if (line.is === "skip") return <div class="diff-line diff-skip">{line.count} equal lines</div>;
  return (
    <div class={`diff-line diff-${line.is}`}>
      <span class="diff-number">{"before" in line ? line.before : ""}</span>
      <span class="diff-number">{"after" in line ? line.after : ""}</span>
      <span class="diff-mark">{marks[line.is]}</span>
      <span class="diff-text">
        <SafeText text={line.text} />
      </span>
    </div>
  );
}
