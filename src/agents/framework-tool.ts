import { createHash } from "node:crypto";
import type { Schema } from "../core/ports/schema.ts";
import type { Tool } from "../core/tool/tool.ts";
import { fault, notDone } from "../core/values/fault.ts";
import type { Digest } from "../core/values/ids.ts";
import { isJsonObject, type Json } from "../core/values/json.ts";
import { defineTool } from "../schema/define-tool.ts";
import type { SchemaDefinition } from "../schema/schema-from.ts";
import { type DeclaredEffects, type ToolTerms, termsOf } from "./declared-effects.ts";

/** A tool of a framework, as its adapter describes it. */
export interface FrameworkTool {
  readonly name: string;
  readonly description?: string;
  /** The JSON Schema that the model is shown. It is only displayed: the framework has parsed the input. */
  readonly input?: Json;
  /** The schema that every input is checked against, where no framework has parsed it. */
  readonly checks?: SchemaDefinition;
  /** True: the provider or the client executes it, so Writ cannot govern it. */
  readonly outside?: boolean;
  /** The terms that its adapter knows. Those that the program declares go before them. */
  readonly terms?: ToolTerms;
}

const NAME_FORM = /^[A-Za-z][A-Za-z0-9_.-]{0,63}$/u;

/** Returns the name that Writ uses for a tool: its own, or a readable part of it with a digest of the whole. */
export function toolNameFor(name: string): string {
  if (NAME_FORM.test(name)) return name;
  const digest = createHash("sha256").update(name).digest("hex").slice(0, 10);
  const readable = name.replaceAll(/[^A-Za-z0-9_.-]+/gu, "_").replace(/^[^A-Za-z]+/u, "");
  return `${readable.slice(0, 50) || "tool"}-${digest}`;
}

/**
 * Makes the declaration of a framework's tool. Each call is run by the function that its adapter passes with it, so the
 * tool itself runs nothing. Its pin covers the terms and not the schema: a held call outlives a new description.
 */
export function declareTool(
  { name, description, input, checks, terms: known }: FrameworkTool,
  effects: DeclaredEffects,
): Tool {
  const terms = termsOf(effects, name) ?? known ?? {};
  const tool = defineTool({
    description: description ?? "",
    ...terms,
    effect: terms.effect ?? "acts",
    name: toolNameFor(name),
    input: checks ?? {},
    output: {},
    run: () => {
      throw notDone("TOOL_AWAY", `${name} is run by the program that proposes its calls`);
    },
  });
  return checks === undefined ? { ...tool, input: shownSchema(input ?? {}) } : tool;
}

/** A schema that is shown and accepts every object: the framework has parsed the input before. */
function shownSchema(json: Json): Schema {
  return {
    json,
    hash: "shown" as Digest,
    parse: (value) =>
      isJsonObject(value as Json)
        ? { ok: true, value: value as Json }
        : { ok: false, fault: fault("INVALID_INPUT", "the arguments are no object that the tool accepts") },
  };
}
