import type { ComponentChildren, VNode } from "preact";
import { useState } from "preact/hooks";
import type { Step } from "../../../src/core/run/run.ts";
import type { StepHistory } from "./step-history.ts";
import type { LoadedRun } from "./use-run.ts";

/** A step, as each part of its drawer shows it. */
export interface StepPartProps {
  readonly loaded: LoadedRun;
  readonly index: number;
  readonly step: Step;
  readonly history: StepHistory;
  readonly onStep: (step_id: string) => void;
}

/** A part of the drawer that a reader can close. Its content is made when it is open. */
export function StepPart({
  title,
  count,
  isOpen = true,
  children,
}: {
  readonly title: string;
  readonly count?: number;
  readonly isOpen?: boolean;
  readonly children: () => ComponentChildren;
}): VNode {
  const [open, setOpen] = useState(isOpen);
  return (
    <details class="part" open={open} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>
        <h3>{title}</h3>
        {count !== undefined && <span class="count">{count}</span>}
      </summary>
      {open && <div class="part-body">{children()}</div>}
    </details>
  );
}
