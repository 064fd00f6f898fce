import type { VNode } from "preact";
import { useState } from "preact/hooks";
import { hasScope } from "../../api/browser-login.ts";
import { ForkDialog } from "./fork-dialog.tsx";
import { ResolveDialog } from "./resolve-dialog.tsx";
import { RestoreDialog } from "./restore-dialog.tsx";
import type { StepPartProps } from "./step-part.tsx";

type StepAction = "resolve" | "fork" | "restore";

/** The actions of a step: settle its doubt, continue elsewhere from here, or restore what was here. */
export function StepActions(props: StepPartProps): VNode | null {
  const [open, setOpen] = useState<StepAction | null>(null);
  const { step } = props;
  const close = () => setOpen(null);
  const isInDoubt = step.standing.state === "in_doubt" && hasScope("decide");
  const canFork = step.checkpoint !== null && hasScope("submit");
  const canRestore = step.checkpoint !== null && hasScope("decide");
  if (!isInDoubt && !canFork && !canRestore) return null;
  return (
    <div class="actions">
      {isInDoubt && (
        <button type="button" class="button" onClick={() => setOpen("resolve")}>
          Resolve…
        </button>
      )}
      {canFork && (
        <button type="button" class="button button-quiet" onClick={() => setOpen("fork")}>
          Fork from here…
        </button>
      )}
      {canRestore && (
        <button type="button" class="button button-quiet" onClick={() => setOpen("restore")}>
          Restore to here…
        </button>
      )}
      {open === "resolve" && <ResolveDialog {...props} onClose={close} />}
      {open === "fork" && <ForkDialog {...props} onClose={close} />}
      {open === "restore" && <RestoreDialog {...props} onClose={close} />}
    </div>
  );
}
