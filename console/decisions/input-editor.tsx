import type { VNode } from "preact";
import { useId } from "preact/hooks";
import type { Json } from "../../src/core/values/json.ts";
import { type SchemaProblem, schemaProblems } from "./schema-problems.ts";

/** A typed text as JSON, or why it cannot be used. */
export type EditedInput =
  | { readonly ok: true; readonly value: Json }
  | { readonly ok: false; readonly problems: readonly SchemaProblem[] };

/** Reads the typed text, and checks it against the schema of the tool. */
export function readEditedInput(text: string, schema: Json): EditedInput {
  let value: Json;
  try {
    value = JSON.parse(text) as Json;
  } catch (error) {
    return { ok: false, problems: [{ path: "", message: error instanceof Error ? error.message : "is no JSON" }] };
  }
  const problems = schemaProblems(value, schema);
  return problems.length === 0 ? { ok: true, value } : { ok: false, problems };
}

/** Edits the input of a call as JSON, and says where it does not fit. */
export function InputEditor({
  text,
  onText,
  edited,
}: {
  readonly text: string;
  readonly onText: (text: string) => void;
  readonly edited: EditedInput;
}): VNode {
  const id = useId();
  return (
    <div class="field">
      <label for={id}>The input that is approved instead</label>
      <textarea
        id={id}
        class="mono"
        rows={Math.min(24, Math.max(6, text.split("\n").length + 1))}
        spellcheck={false}
        aria-invalid={!edited.ok}
        aria-describedby={`${id}-problems`}
        value={text}
        onInput={({ currentTarget }) => onText(currentTarget.value)}
      />
      <ul id={`${id}-problems`} class="field-problem" aria-live="polite">
        {!edited.ok &&
          edited.problems.map(({ path, message }) => (
            <li key={path + message}>
              <code>{path || "input"}</code> {message}
            </li>
          ))}
      </ul>
    </div>
  );
}
