import type { ComponentChildren, VNode } from "preact";
import { useState } from "preact/hooks";
import { type ApiProblem, toProblem } from "../../api/problem.ts";
import { Dialog } from "../../components/dialog.tsx";
import { ProblemNote } from "../../components/problem-note.tsx";

interface ActionDialogProps {
  readonly title: string;
  /** The words of the button that does it. */
  readonly does: string;
  readonly isDangerous?: boolean;
  /** False: it cannot be done as it is filled in. */
  readonly isReady?: boolean;
  /** True: the record of the action has a reason. */
  readonly hasReason?: boolean;
  readonly act: (reason: string | undefined) => Promise<unknown>;
  readonly onClose: () => void;
  /** Called when it is done. Default: `onClose`. */
  readonly onDone?: () => void;
  readonly children?: ComponentChildren;
}

/** Asks a person to confirm an action, with a reason for the record. It stays open with the problem if it is refused. */
export function RunActionDialog(props: ActionDialogProps): VNode {
  const {
    title,
    does,
    isDangerous = false,
    isReady = true,
    hasReason = true,
    act,
    onClose,
    onDone = onClose,
    children,
  } = props;
  const [reason, setReason] = useState("");
  const [problem, setProblem] = useState<ApiProblem | null>(null);
  const [isBusy, setBusy] = useState(false);
  const submit = async (event: Event) => {
    event.preventDefault();
    setBusy(true);
    setProblem(null);
    try {
      await act(reason === "" ? undefined : reason);
      onDone();
    } catch (error) {
      setProblem(toProblem(error));
      setBusy(false);
    }
  };
  return (
    <Dialog title={title} onClose={onClose}>
      <form class="form" onSubmit={(event) => void submit(event)}>
        {children}
        {hasReason && (
          <label>
            Reason, for the record
            <input
              name="reason"
              autocomplete="off"
              maxLength={1000}
              value={reason}
              onInput={(event) => setReason(event.currentTarget.value)}
            />
          </label>
        )}
        <ProblemNote problem={problem} />
        <div class="actions">
          <button type="submit" class={isDangerous ? "button button-danger" : "button"} disabled={isBusy || !isReady}>
            {isBusy ? "One moment …" : does}
          </button>
          <button type="button" class="button button-quiet" onClick={onClose}>
            Close
          </button>
        </div>
      </form>
    </Dialog>
  );
}
