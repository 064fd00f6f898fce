import type { VNode } from "preact";
import { modes } from "../../../src/core/values/effect.ts";
import type { RunTerms } from "./run-terms.ts";

const modeTitles = {
  dry_run: "dry run: no tool with an effect is called",
  draft_only: "drafts only: no act",
  human_gated: "every act waits for a person",
  auto_exec: "acts run where the rules allow it",
} as const;

/** The terms of a run besides its plan. */
export function RunTermFields({
  terms,
  onTerms,
}: {
  readonly terms: RunTerms;
  readonly onTerms: (terms: RunTerms) => void;
}): VNode {
  const set = (name: keyof RunTerms) => (event: { readonly currentTarget: { readonly value: string } }) =>
    onTerms({ ...terms, [name]: event.currentTarget.value });
  return (
    <details class="new-run-terms">
      <summary>Title, project, labels and mode</summary>
      <div class="form">
        <label>
          Title
          <input type="text" maxLength={200} value={terms.title} onInput={set("title")} />
        </label>
        <label>
          Project
          <input type="text" value={terms.project} onInput={set("project")} />
        </label>
        <label>
          Labels, with commas between them
          <input type="text" value={terms.labels} onInput={set("labels")} />
        </label>
        <label>
          Mode
          <select value={terms.mode} onChange={set("mode")}>
            <option value="">as the settings say</option>
            {modes.map((mode) => (
              <option key={mode} value={mode}>
                {modeTitles[mode]}
              </option>
            ))}
          </select>
        </label>
      </div>
    </details>
  );
}
