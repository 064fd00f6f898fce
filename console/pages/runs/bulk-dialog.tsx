import type { VNode } from "preact";
import { useState } from "preact/hooks";
import { callRoute } from "../../api/call-route.ts";
import { type ApiProblem, toProblem } from "../../api/problem.ts";
import { ActionDialog } from "../../components/action-dialog.tsx";
import { RunLink } from "../../components/run-link.tsx";
import { SafeText } from "../../components/safe-text.tsx";

export type BulkAction = "cancel" | "resume";

/** Requests under way at once. */
const lanes = 4;

const words = {
  cancel: {
    title: "Cancel",
    done: "cancelled",
    about: "No further step of these runs starts. Calls that are under way end.",
  },
  resume: { title: "Resume", done: "resumed", about: "Runs that are parked, or ended with failed steps, continue." },
} as const;

/** Asks, then cancels or resumes runs one by one, and lists those that were refused. */
export function BulkDialog({
  action,
  runs,
  onClose,
}: {
  readonly action: BulkAction;
  readonly runs: readonly string[];
  readonly onClose: () => void;
}): VNode {
  const [done, setDone] = useState(0);
  const [refused, setRefused] = useState<readonly { readonly run_id: string; readonly problem: ApiProblem }[] | null>(
    null,
  );
  const { title, done: past, about } = words[action];
  const act = async (reason: string) => {
    const problems: { run_id: string; problem: ApiProblem }[] = [];
    const left = [...runs];
    const work = async () => {
      for (let run_id = left.pop(); run_id !== undefined; run_id = left.pop()) {
        const fields = { run_id, ...(reason !== "" && { reason }) };
        await callRoute(action === "cancel" ? "run.cancel" : "resume", fields).catch((error: unknown) => {
          problems.push({ run_id: fields.run_id, problem: toProblem(error) });
        });
        setDone((before) => before + 1);
      }
    };
    await Promise.all(Array.from({ length: lanes }, work));
    if (problems.length === 0) return;
    setRefused(problems);
    throw new Error(`${runs.length - problems.length} of ${runs.length} runs were ${past}`);
  };
  const noun = runs.length === 1 ? "1 run" : `${runs.length} runs`;
  return (
    <ActionDialog
      title={`${title} ${noun}`}
      action={`${title} ${noun}`}
      isDangerous={action === "cancel"}
      reason="optional"
      canAct={refused === null}
      onAct={act}
      onClose={onClose}
    >
      <p class="soft">{about}</p>
      {done > 0 && (
        <progress max={runs.length} value={done} aria-label={`${done} of ${runs.length} runs`}>
          {done}
        </progress>
      )}
      {refused !== null && (
        <ul class="bulk-refused">
          {refused.slice(0, 50).map(({ run_id, problem }) => (
            <li key={run_id}>
              <RunLink run_id={run_id} /> <SafeText text={problem.message} />
            </li>
          ))}
        </ul>
      )}
    </ActionDialog>
  );
}
