import type { VNode } from "preact";
import { useId } from "preact/hooks";
import type { Json } from "../../src/core/values/json.ts";

/** A text that should be JSON: its value, or where it is wrong. */
export type ReadJson = { readonly ok: true; readonly value: Json } | { readonly ok: false; readonly problem: string };

/** Reads a text as JSON. The problem names the line. */
export function readJson(text: string): ReadJson {
  try {
    return { ok: true, value: JSON.parse(text) as Json };
  } catch (error) {
    const { message } = error as SyntaxError;
    const position = /position (\d+)/.exec(message)?.[1];
    if (position === undefined) return { ok: false, problem: text.trim() === "" ? "There is no JSON yet." : message };
    const before = text.slice(0, Number(position));
    const line = before.split("\n").length;
    const column = before.length - before.lastIndexOf("\n");
    return { ok: false, problem: `Line ${line}, column ${column}: ${message.replace(/ in JSON.*/s, "")}` };
  }
}

interface JsonFieldProps {
  readonly label: string;
  readonly text: string;
  readonly rows?: number;
  readonly onText: (text: string) => void;
  /** True: an empty text is no problem. */
  readonly isOptional?: boolean;
  /** Problems besides those of the form of JSON. */
  readonly problems?: readonly string[];
}

/** A field for JSON. Tab leaves it; the problem below it says where the text is wrong. */
export function JsonField({
  label,
  text,
  rows = 12,
  onText,
  isOptional = false,
  problems = [],
}: JsonFieldProps): VNode {
  const id = useId();
  const read = readJson(text);
  const isEmpty = isOptional && text.trim() === "";
  const all = [...(read.ok || isEmpty ? [] : [read.problem]), ...problems];
  return (
    <div class="field json-field">
      <div class="json-field-head">
        <label for={id}>{label}</label>
        <button
          type="button"
          class="side-action"
          disabled={!read.ok}
          onClick={() => read.ok && onText(JSON.stringify(read.value, null, 2))}
        >
          Format
        </button>
      </div>
      <textarea
        id={id}
        class="mono"
        rows={rows}
        value={text}
        spellcheck={false}
        autocomplete="off"
        dir="ltr"
        aria-invalid={all.length > 0}
        aria-describedby={`${id}-problems`}
        onInput={({ currentTarget }) => onText(currentTarget.value)}
      />
      <ul id={`${id}-problems`} class="field-problem" aria-live="polite">
        {all.map((problem) => (
          <li key={problem}>{problem}</li>
        ))}
      </ul>
    </div>
  );
}
