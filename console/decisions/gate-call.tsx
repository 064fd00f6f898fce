import type { ComponentChildren, VNode } from "preact";
import type { Json } from "../../src/core/values/json.ts";
import { isJsonObject } from "../../src/core/values/json.ts";
import { DiffView } from "../components/diff-view.tsx";
import { hasHiddenCharacters } from "../components/hidden-characters.ts";
import { isShortened, JsonView } from "../components/json-view.tsx";
import { SafeText } from "../components/safe-text.tsx";

/** The tool by which a person accepts a changed tool of an MCP server. */
export const acceptToolName = "mcp.accept_tool";

/** A part of a decision: a heading, and its content. */
export function DecisionPart({
  title,
  children,
}: {
  readonly title: ComponentChildren;
  readonly children: ComponentChildren;
}): VNode {
  return (
    <section class="decision-part">
      <h3>{title}</h3>
      {children}
    </section>
  );
}

/** The exact call, whole. A changed tool is shown as the difference of its definitions. */
export function GateCall({
  tool,
  input,
  digest,
}: {
  readonly tool: string;
  readonly input: Json;
  readonly digest: string;
}): VNode {
  const hasHidden = hasHiddenCharacters(JSON.stringify(input).replaceAll(/\\u([0-9a-f]{4})/gi, toCharacter));
  const foldFrom = tool === acceptToolName ? 1 : 12;
  const change = tool === acceptToolName && isJsonObject(input) ? input : null;
  return (
    <DecisionPart title="The exact call">
      {hasHidden && (
        <p class="note note-danger">
          The call has characters that are hidden or change the order of text. They are shown by their codes.
        </p>
      )}
      {change !== null && (
        <DiffView
          before={change.before === null ? null : definitionText(change.before)}
          after={definitionText(change.after)}
          label={`Change of ${String(change.tool)} of ${String(change.server)}`}
        />
      )}
      {change === null && isShortened(input, foldFrom) && (
        <p class="note note-hold">
          The call is long, and not all of it is shown. Read the rest with the buttons in it before you approve.
        </p>
      )}
      <JsonView value={input} label="input" foldFrom={foldFrom} />
      <p class="soft small">
        Digest{" "}
        <code class="digest">
          <SafeText text={digest} />
        </code>
        : the decision counts for exactly this call.
      </p>
    </DecisionPart>
  );
}

function toCharacter(_: string, code: string): string {
  return String.fromCharCode(Number.parseInt(code, 16));
}

function definitionText(pin: Json | undefined): string {
  return JSON.stringify(pin !== undefined && isJsonObject(pin) ? (pin.definition ?? pin) : pin, null, 2) ?? "";
}
