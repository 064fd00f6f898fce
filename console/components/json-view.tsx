import type { VNode } from "preact";
import { useState } from "preact/hooks";
import type { Json } from "../../src/core/values/json.ts";
import { CopyButton } from "./copy-button.tsx";
import { SafeText } from "./safe-text.tsx";

/** A longer text is cut. The reader asks for more of it in parts, so that a text of megabytes does not block the page. */
const textMax = 4000;
/** More entries than these are shown when the reader asks for them. */
const entriesMax = 100;

/** True if a part of the value is shown only when the reader asks for it. */
export function isShortened(value: Json, foldFrom: number, depth = 0): boolean {
  if (typeof value === "string") return value.length > textMax;
  if (typeof value !== "object" || value === null) return false;
  const entries: readonly Json[] = Object.values(value);
  if (entries.length === 0) return false;
  return (
    depth >= foldFrom || entries.length > entriesMax || entries.some((each) => isShortened(each, foldFrom, depth + 1))
  );
}

interface JsonViewProps {
  readonly value: Json | undefined;
  /** The name of the value, for readers that do not see the page. */
  readonly label: string;
  /** Values at this depth and below are folded at first. Default: 4. */
  readonly foldFrom?: number;
  readonly canCopy?: boolean;
}

/** Shows a JSON value whole, with folding, and with every hidden character by its code. */
export function JsonView({ value, label, foldFrom = 4, canCopy = true }: JsonViewProps): VNode {
  if (value === undefined) return <p class="soft">There is none.</p>;
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls needs the keyboard
    <section class="json" aria-label={label} tabIndex={0}>
      {canCopy && <CopyButton text={() => JSON.stringify(value, null, 2)} label={`Copy ${label}`} />}
      <JsonNode value={value} depth={0} foldFrom={foldFrom} />
    </section>
  );
}

function JsonNode({ value, depth, foldFrom }: { value: Json; depth: number; foldFrom: number }): VNode {
  if (typeof value === "string") return <JsonText text={value} />;
  if (typeof value !== "object" || value === null) return <span class={`json-${kindOf(value)}`}>{String(value)}</span>;
  const isList = Array.isArray(value);
  const entries: readonly (readonly [string, Json])[] = Object.entries(value);
  if (entries.length === 0) return <span class="json-mark">{isList ? "[]" : "{}"}</span>;
  return <JsonEntries entries={entries} isList={isList} depth={depth} foldFrom={foldFrom} />;
}

function JsonEntries({
  entries,
  isList,
  depth,
  foldFrom,
}: {
  entries: readonly (readonly [string, Json])[];
  isList: boolean;
  depth: number;
  foldFrom: number;
}): VNode {
  const [isOpen, setOpen] = useState(depth < foldFrom);
  const [count, setCount] = useState(entriesMax);
  const [begin, end] = isList ? ["[", "]"] : ["{", "}"];
  if (!isOpen)
    return (
      <button type="button" class="json-fold" aria-expanded={false} onClick={() => setOpen(true)}>
        {begin} {entries.length} {entries.length === 1 ? "entry" : "entries"} {end}
      </button>
    );
  return (
    <>
      {depth >= foldFrom ? (
        <button type="button" class="json-fold" aria-expanded={true} onClick={() => setOpen(false)}>
          {begin}
        </button>
      ) : (
        <span class="json-mark">{begin}</span>
      )}
      <ul>
        {entries.slice(0, count).map(([name, each]) => (
          <li key={name}>
            {!isList && (
              <>
                <span class="json-name">
                  <SafeText text={name} />
                </span>
                <span class="json-mark">: </span>
              </>
            )}
            <JsonNode value={each} depth={depth + 1} foldFrom={foldFrom} />
          </li>
        ))}
      </ul>
      {entries.length > count && (
        <button type="button" class="json-fold" onClick={() => setCount(count + 10 * entriesMax)}>
          {entries.length - count} more entries
        </button>
      )}
      <span class="json-mark">{end}</span>
    </>
  );
}

function JsonText({ text }: { text: string }): VNode {
  const [shown, setShown] = useState(textMax);
  return (
    <span class="json-text">
      "<SafeText text={text.slice(0, shown)} />"
      {text.length > shown && (
        <button type="button" class="json-fold" onClick={() => setShown(shown + 25 * textMax)}>
          {(text.length - shown).toLocaleString("en")} more characters
        </button>
      )}
    </span>
  );
}

function kindOf(value: Json): "null" | "number" | "boolean" {
  if (value === null) return "null";
  return typeof value === "number" ? "number" : "boolean";
}
