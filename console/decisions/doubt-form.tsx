import type { VNode } from "preact";
import { useRef } from "preact/hooks";
import type { Json } from "../../src/core/values/json.ts";
import { callRoute } from "../api/call-route.ts";
import { useKeys } from "../app/key-bindings.ts";
import { ProblemNote } from "../components/problem-note.tsx";
import { useServerValue } from "../live/use-server-value.ts";
import type { DecisionDraft } from "./decision-draft.ts";
import type { ListedDoubt } from "./listed-doubt.ts";
import { useAction } from "./use-action.ts";
import { useDecisionDraft } from "./use-decision-draft.ts";

const settlements = [
  { as: "happened", title: "It happened", key: "h", about: "the act counts as done; nothing is sent again" },
  { as: "absent", title: "It did not happen", key: "n", about: "the step may be tried again" },
  { as: "undo", title: "Undo it", key: "u", about: "the compensation of the tool runs" },
  { as: "give_up", title: "Give up", key: "g", about: "the step fails; the act stays unknown" },
] as const;

/** Settles an act in doubt, for the attempt that is shown. */
export function DoubtForm({
  doubt,
  onSettled,
}: {
  readonly doubt: ListedDoubt;
  readonly onSettled: () => Promise<void>;
}): VNode {
  const { run_id, step_id, attempt } = doubt;
  const canUndo = useCanUndo(doubt.tool);
  const [draft, change, drop] = useDecisionDraft(`${run_id}/${step_id}`);
  const action = useAction();
  const buttons = useRef(new Map<string, HTMLButtonElement | null>());
  const output = readOutput(draft.edited ?? "");
  const settle = async (as: (typeof settlements)[number]["as"] | "verify") => {
    const reason = draft.reason.trim();
    const given = as === "happened" && output.is === "given" ? { output: output.value } : {};
    const fields = { run_id, step_id, attempt, as, ...given, ...(reason !== "" && { reason }) };
    if (await action.send(() => callRoute("resolve", fields as never))) drop();
    await onSettled();
  };
  useKeys(
    settlements.map(({ as, title, key }) => ({
      key,
      does: `go to “${title}”; Enter settles`,
      run: () => buttons.current.get(as)?.focus(),
    })),
  );
  return (
    <form class="decision decision-doubt" aria-label="Settle the doubt" onSubmit={(event) => event.preventDefault()}>
      <DoubtFields draft={draft} change={change} isWrong={output.is === "wrong"} />
      <div class="settlements">
        {settlements.map(({ as, title, about }) => (
          <button
            key={as}
            type="button"
            class={as === "give_up" ? "button button-danger" : "button button-quiet"}
            ref={(element) => void buttons.current.set(as, element)}
            disabled={action.isBusy || (as === "happened" && output.is === "wrong") || (as === "undo" && !canUndo)}
            onClick={() => void settle(as)}
          >
            <span>{title}</span>
            <small>{as === "undo" && !canUndo ? "the tool has no compensation" : about}</small>
          </button>
        ))}
      </div>
      {"exits" in doubt && doubt.exits.verify && (
        <button
          type="button"
          class="button button-quiet"
          disabled={action.isBusy}
          onClick={() => void settle("verify")}
        >
          Have the verifier look now
        </button>
      )}
      <ProblemNote problem={action.problem} />
    </form>
  );
}

/** Returns false if the tool declares no compensation: then its act cannot be undone. */
function useCanUndo(tool: string): boolean {
  const { value } = useServerValue("tools", () => callRoute("tools.list", {}));
  return value?.find(({ name }) => name === tool)?.can_undo !== false;
}

function DoubtFields({
  draft,
  change,
  isWrong,
}: {
  readonly draft: DecisionDraft;
  readonly change: (changed: Partial<DecisionDraft>) => void;
  /** The output is no JSON. */
  readonly isWrong: boolean;
}): VNode {
  return (
    <>
      <label class="field">
        How you know, for the record
        <input
          autocomplete="off"
          maxLength={1000}
          value={draft.reason}
          onInput={({ currentTarget }) => change({ reason: currentTarget.value })}
        />
      </label>
      <label class="field">
        If it happened: its output as JSON, if you have it
        <input
          class="mono"
          autocomplete="off"
          spellcheck={false}
          aria-invalid={isWrong}
          value={draft.edited ?? ""}
          onInput={({ currentTarget }) => change({ edited: currentTarget.value })}
        />
        {isWrong && <span class="field-problem">This is no JSON.</span>}
      </label>
    </>
  );
}

type GivenOutput = { readonly is: "none" | "wrong" } | { readonly is: "given"; readonly value: Json };

function readOutput(text: string): GivenOutput {
  if (text.trim() === "") return { is: "none" };
  try {
    return { is: "given", value: JSON.parse(text) as Json };
  } catch {
    return { is: "wrong" };
  }
}
