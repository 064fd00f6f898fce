import type { ComponentChildren, VNode } from "preact";
import { useId, useState } from "preact/hooks";
import { type ApiProblem, toProblem } from "../api/problem.ts";
import { Dialog } from "./dialog.tsx";
import { ProblemNote } from "./problem-note.tsx";

interface ActionDialogProps {
  readonly title: string;
  /** The words on the button that does it. */
  readonly action: string;
  readonly isDangerous?: boolean;
  /** Absent: the action has no reason. `required`: it needs one. */
  readonly reason?: "optional" | "required";
  readonly canAct?: boolean;
  readonly onAct: (reason: string) => Promise<void>;
  readonly onClose: () => void;
  /** The consequences, and further fields. */
  readonly children?: ComponentChildren;
}

/** Asks before an action. If the server refuses, it stays open with everything that was typed. */
export function ActionDialog(props: ActionDialogProps): VNode {
  const { title, action, isDangerous, reason, canAct = true, onAct, onClose, children } = props;
  const [text, setText] = useState("");
  const [isBusy, setBusy] = useState(false);
  const [problem, setProblem] = useState<ApiProblem | null>(null);
  const id = useId();
  const act = async (event: Event) => {
    event.preventDefault();
    setBusy(true);
    try {
      await onAct(text.trim());
      onClose();
    } catch (error) {
      setProblem(toProblem(error));
      setBusy(false);
    }
  };
  const isReady = canAct && !isBusy && (reason !== "required" || text.trim() !== "");
  return (
    <Dialog title={title} onClose={onClose}>
      <form class="form" onSubmit={(event) => void act(event)}>
        {children}
        {reason !== undefined && (
          <div class="field">
            <label for={id}>Reason{reason === "optional" ? " (optional)" : ""}</label>
            <textarea
              id={id}
              rows={2}
              value={text}
              required={reason === "required"}
              onInput={({ currentTarget }) => setText(currentTarget.value)}
            />
          </div>
        )}
        <ProblemNote problem={problem} />
        <div class="actions">
          <button type="submit" class={isDangerous ? "button button-danger" : "button"} disabled={!isReady}>
            {isBusy ? "Working…" : action}
          </button>
          <button type="button" class="button button-quiet" onClick={onClose}>
            Close
          </button>
        </div>
      </form>
    </Dialog>
  );
}
