import type { VNode } from "preact";
import { useState } from "preact/hooks";
import type { JsonObject } from "../../../src/core/values/json.ts";
import type { ToolView } from "../../../src/engine/api/tool-api.ts";
import { EffectMark } from "../../components/effect-mark.tsx";
import { EmptyState } from "../../components/empty-state.tsx";
import { JsonField, readJson } from "../../components/json-field.tsx";
import { SafeText } from "../../components/safe-text.tsx";
import { isObject, startValue } from "./schema-field.ts";
import { SchemaForm } from "./schema-form.tsx";

/** Returns the input that the form of a tool begins with. */
export function startInput({ input }: ToolView): JsonObject {
  const start = isObject(input) ? startValue(input, input) : undefined;
  return isObject(start) ? start : {};
}

interface ToolInputProps {
  readonly tools: readonly ToolView[];
  readonly tool: ToolView | null;
  readonly input: JsonObject;
  readonly onTool: (name: string) => void;
  readonly onInput: (input: JsonObject) => void;
}

/** The choice of a tool, and its input as a form or as JSON. */
export function ToolInput({ tools, tool, input, onTool, onInput }: ToolInputProps): VNode {
  if (tools.length === 0)
    return (
      <EmptyState title="This server has no tools">
        <p>
          Define one in <code>writ.config.mjs</code>, and start the server again.
        </p>
      </EmptyState>
    );
  return (
    <>
      <label>
        Tool
        <select value={tool?.name ?? ""} onChange={({ currentTarget }) => onTool(currentTarget.value)}>
          <option value="">Choose a tool</option>
          {tools.map(({ name }) => (
            <option key={name} value={name}>
              {name}
            </option>
          ))}
        </select>
      </label>
      {tool !== null && <InputOfTool key={tool.name} tool={tool} input={input} onInput={onInput} />}
    </>
  );
}

interface InputOfToolProps {
  readonly tool: ToolView;
  readonly input: JsonObject;
  readonly onInput: (input: JsonObject) => void;
}

function InputOfTool({ tool, input, onInput }: InputOfToolProps): VNode {
  /** The text of the input while it is edited as JSON. Null: it is edited as a form. */
  const [raw, setRaw] = useState<string | null>(null);
  const read = (text: string) => {
    setRaw(text);
    const made = readJson(text);
    if (made.ok && isObject(made.value)) onInput(made.value);
  };
  return (
    <>
      <p class="small">
        <EffectMark effect={tool.effect} /> {tool.guarantee}
      </p>
      {tool.description !== "" && (
        <p class="soft">
          <SafeText text={tool.description} />
        </p>
      )}
      <div class="section-head">
        <h2>Input</h2>
        <button
          type="button"
          class="side-action"
          onClick={() => setRaw(raw === null ? JSON.stringify(input, null, 2) : null)}
        >
          {raw === null ? "As JSON" : "As a form"}
        </button>
      </div>
      {raw === null ? (
        <SchemaForm schema={isObject(tool.input) ? tool.input : {}} value={input} onValue={onInput} />
      ) : (
        <JsonField label="Input" text={raw} rows={10} onText={read} />
      )}
    </>
  );
}
