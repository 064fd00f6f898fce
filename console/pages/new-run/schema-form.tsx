import type { VNode } from "preact";
import { useId, useState } from "preact/hooks";
import type { Json, JsonObject } from "../../../src/core/values/json.ts";
import { JsonField, readJson } from "../../components/json-field.tsx";
import { SafeText } from "../../components/safe-text.tsx";
import { isObject, type NamedField, resolved, type SchemaField, schemaField, startValue } from "./schema-field.ts";

interface FieldProps {
  readonly name: string;
  readonly schema: JsonObject;
  readonly root: JsonObject;
  readonly depth: number;
  readonly isRequired: boolean;
  /** Undefined: there is no value. */
  readonly value: Json | undefined;
  readonly onValue: (value: Json | undefined) => void;
}

/** A form for the input of a tool, from its schema. */
export function SchemaForm({
  schema,
  value,
  onValue,
}: {
  readonly schema: JsonObject;
  readonly value: JsonObject;
  readonly onValue: (value: JsonObject) => void;
}): VNode {
  const field = schemaField(schema, schema);
  if (field.kind !== "object")
    return <RawField name="Input" value={value} onValue={(next) => onValue((next ?? {}) as JsonObject)} />;
  return <ObjectFields fields={field.fields} root={schema} depth={0} value={value} onValue={onValue} />;
}

interface ObjectProps {
  readonly fields: readonly NamedField[];
  readonly root: JsonObject;
  readonly depth: number;
  readonly value: JsonObject;
  readonly onValue: (value: JsonObject) => void;
}

function ObjectFields({ fields, root, depth, value, onValue }: ObjectProps): VNode {
  if (fields.length === 0) return <p class="soft">There is nothing to fill in.</p>;
  return (
    <>
      {fields.map(({ name, schema, isRequired }) => (
        <Field
          key={name}
          name={name}
          schema={schema}
          root={root}
          depth={depth + 1}
          isRequired={isRequired}
          value={value[name]}
          onValue={(next) => {
            const { [name]: _old, ...others } = value;
            onValue(next === undefined ? others : { ...others, [name]: next });
          }}
        />
      ))}
    </>
  );
}

function Field(props: FieldProps): VNode {
  const { schema, root, depth, name, value, onValue } = props;
  const field = schemaField(schema, root, depth);
  if (field.kind === "object")
    return (
      <fieldset class="schema-group">
        <legend>
          <FieldName {...props} />
        </legend>
        <ObjectFields
          fields={field.fields}
          root={root}
          depth={depth}
          value={isObject(value) ? value : {}}
          onValue={onValue}
        />
      </fieldset>
    );
  if (field.kind === "list") return <ListField {...props} of={field.of} />;
  if (field.kind === "json") return <RawField name={name} value={value} onValue={onValue} />;
  return <PlainField {...props} field={field} />;
}

function FieldName({
  name,
  isRequired,
  schema,
  root,
}: Pick<FieldProps, "name" | "isRequired" | "schema" | "root">): VNode {
  const description = resolved(schema, root)?.description;
  return (
    <span>
      <SafeText text={name} />
      {isRequired && <span class="field-needed"> required</span>}
      {typeof description === "string" && description !== "" && (
        <span class="field-about">
          {" "}
          <SafeText text={description} />
        </span>
      )}
    </span>
  );
}

type PlainKind = Extract<SchemaField, { kind: "choice" | "text" | "number" | "flag" }>;

function PlainField(props: FieldProps & { readonly field: PlainKind }): VNode {
  const { field, value, onValue } = props;
  const id = useId();
  if (field.kind === "flag")
    return (
      <label class="field-check" for={id}>
        <input
          id={id}
          type="checkbox"
          checked={value === true}
          onChange={({ currentTarget }) => onValue(currentTarget.checked)}
        />
        <span>
          <FieldName {...props} />
        </span>
      </label>
    );
  return (
    <div class="field">
      <label for={id}>
        <FieldName {...props} />
      </label>
      <PlainControl id={id} field={field} value={value} onValue={onValue} />
    </div>
  );
}

interface ControlProps extends Pick<FieldProps, "value" | "onValue"> {
  readonly id: string;
  readonly field: Exclude<PlainKind, { kind: "flag" }>;
}

function PlainControl({ id, field, value, onValue }: ControlProps): VNode {
  if (field.kind === "choice") {
    const at = field.values.findIndex((each) => JSON.stringify(each) === JSON.stringify(value));
    return (
      <select id={id} value={at} onChange={({ currentTarget }) => onValue(field.values[Number(currentTarget.value)])}>
        <option value={-1}>–</option>
        {field.values.map((each, index) => (
          <option key={index} value={index}>
            {typeof each === "string" ? each : JSON.stringify(each)}
          </option>
        ))}
      </select>
    );
  }
  if (field.kind === "number")
    return (
      <input
        id={id}
        type="number"
        step={field.isWhole ? 1 : "any"}
        min={field.min ?? undefined}
        max={field.max ?? undefined}
        value={typeof value === "number" ? value : ""}
        onInput={({ currentTarget }) => onValue(currentTarget.value === "" ? undefined : Number(currentTarget.value))}
      />
    );
  const text = typeof value === "string" ? value : "";
  const onInput = ({ currentTarget }: { readonly currentTarget: { readonly value: string } }) =>
    onValue(currentTarget.value === "" ? undefined : currentTarget.value);
  return field.isLong ? (
    <textarea id={id} rows={4} value={text} onInput={onInput} />
  ) : (
    <input id={id} type="text" value={text} onInput={onInput} />
  );
}

function ListField(props: FieldProps & { readonly of: JsonObject }): VNode {
  const { of, root, depth, name, value, onValue } = props;
  const items = Array.isArray(value) ? value : [];
  const set = (at: number, item: Json | undefined) =>
    onValue(items.map((each, index) => (index === at ? (item ?? "") : each)));
  return (
    <fieldset class="schema-group">
      <legend>
        <FieldName {...props} />
      </legend>
      {items.map((item, at) => (
        <div key={at} class="schema-item">
          <Field
            name={`${name} ${at + 1}`}
            schema={of}
            root={root}
            depth={depth + 1}
            isRequired={false}
            value={item}
            onValue={(next) => set(at, next)}
          />
          <button
            type="button"
            class="button button-quiet"
            aria-label={`Remove ${name} ${at + 1}`}
            onClick={() => onValue(items.filter((_, index) => index !== at))}
          >
            ×
          </button>
        </div>
      ))}
      <button
        type="button"
        class="button button-quiet"
        onClick={() => onValue([...items, startValue(of, root, depth + 1) ?? firstValue(of, root)])}
      >
        Add
      </button>
    </fieldset>
  );
}

function firstValue(of: JsonObject, root: JsonObject): Json {
  const { kind } = schemaField(of, root);
  return kind === "number" ? 0 : kind === "flag" ? false : kind === "object" ? {} : kind === "list" ? [] : "";
}

/** A value without a simpler form, as JSON. A text that cannot be read is not passed on. */
function RawField({ name, value, onValue }: Pick<FieldProps, "name" | "value" | "onValue">): VNode {
  const [text, setText] = useState(value === undefined ? "" : JSON.stringify(value, null, 2));
  const read = (next: string) => {
    setText(next);
    if (next.trim() === "") return onValue(undefined);
    const made = readJson(next);
    if (made.ok) onValue(made.value);
  };
  return <JsonField label={`${name} (JSON)`} text={text} rows={4} isOptional onText={read} />;
}
