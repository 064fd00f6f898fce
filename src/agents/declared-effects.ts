import { isPlainObject } from "../core/json/plain-object.ts";
import { effects as allEffects, type Effect } from "../core/values/effect.ts";
import { FaultError, fault } from "../core/values/fault.ts";
import type { ToolDefinition } from "../schema/define-tool.ts";
import type { SchemaDefinition } from "../schema/schema-from.ts";

/** The declaration of a tool that a framework runs: its effect, and for an act how it is known and verified. */
export type ToolTerms = Partial<
  Omit<ToolDefinition<SchemaDefinition, SchemaDefinition>, "name" | "input" | "output" | "run">
>;

/** The effects of the tools of a framework, by the name of the tool. A tool that is not listed acts. */
export type DeclaredEffects = Readonly<Record<string, Effect | ToolTerms>>;

/** Returns the terms of a tool, or null if none are declared. */
export function termsOf(effects: DeclaredEffects, tool: string): ToolTerms | null {
  if (!Object.hasOwn(effects, tool)) return null;
  const terms = effects[tool];
  return typeof terms === "string" ? { effect: terms } : (terms ?? null);
}

/** Throws INVALID_INPUT unless each entry is an effect, or an object with terms. `defineTool` checks the terms. */
export function assertEffects(effects: unknown): void {
  const isEntry = (entry: unknown) =>
    typeof entry === "string" ? allEffects.includes(entry as Effect) : isPlainObject(entry);
  if (isPlainObject(effects) && Object.values(effects).every(isEntry)) return;
  const message = `effects must be an object such as { search: "reads", send: "acts" }, of ${allEffects.join(", ")}`;
  throw new FaultError(fault("INVALID_INPUT", message));
}

/** Returns the text that names the tools that are taken as acts, with the line that declares them. */
export function undeclaredText(tools: readonly string[]): string {
  const line = tools.map((tool) => `${/^[A-Za-z_$][\w$]*$/u.test(tool) ? tool : JSON.stringify(tool)}: "acts"`);
  return [
    `writ: no effect is declared for ${tools.join(", ")}, so each call is taken as an act.`,
    'writ: declare what each tool does at worst ("pure", "reads", "writes" or "acts"):',
    `  effects: { ${line.join(", ")} }`,
  ].join("\n");
}

/** Returns the text that names the tools that Writ cannot govern. */
export function outsideText(tools: readonly string[]): string {
  return `writ: outside Writ, because the provider or the client executes them: ${tools.join(", ")}.`;
}
