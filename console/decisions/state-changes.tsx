import type { VNode } from "preact";
import type { Patch, PatchOperation } from "../../src/core/state/patch.ts";
import { JsonView } from "../components/json-view.tsx";
import { SafeText } from "../components/safe-text.tsx";

const words: Readonly<Record<PatchOperation["op"], string>> = {
  init: "creates",
  set: "sets",
  append: "appends to",
  remove: "removes",
  cut: "shortens",
};

/** The changes of state that a call would make. */
export function StateChanges({ patch }: { readonly patch: Patch }): VNode {
  const visible = patch.filter(({ op }) => op !== "init");
  return (
    <ul class="changes">
      {visible.map((change, at) => (
        <li key={`${at} ${change.path}`}>
          <p>
            {words[change.op]}{" "}
            <code>
              <SafeText text={change.path} />
            </code>
            {change.op === "cut" && ` to ${change.length} entries`}
          </p>
          {"value" in change && (
            <JsonView value={change.value as never} label={`value of ${change.path}`} canCopy={false} />
          )}
        </li>
      ))}
    </ul>
  );
}
