import type { VNode } from "preact";
import { useState } from "preact/hooks";
import { callRoute } from "../../api/call-route.ts";
import { type ApiProblem, toProblem } from "../../api/problem.ts";
import { DiffView } from "../../components/diff-view.tsx";
import { ProblemNote } from "../../components/problem-note.tsx";
import type { TreeFile } from "./demo-state.ts";

/** The files on disk that differ from the start, and a button that restores them. */
export function TreeFiles({
  files,
  onRestored,
}: {
  readonly files: readonly TreeFile[];
  readonly onRestored: () => void;
}) {
  const changed = files.filter(({ before, now }) => before !== now);
  const [problem, setProblem] = useState<ApiProblem | null>(null);
  if (changed.length === 0) return null;
  const restore = async () => {
    try {
      await restoreFirstFiles();
      setProblem(null);
      onRestored();
    } catch (error) {
      setProblem(toProblem(error));
    }
  };
  return (
    <div class="demo-files">
      <div class="demo-files-head">
        <h3>Changed on disk</h3>
        <button type="button" class="button button-quiet" onClick={() => void restore()}>
          Restore the files
        </button>
      </div>
      <ProblemNote problem={problem} />
      {changed.map(
        ({ path, before, now }): VNode => (
          <figure key={path}>
            <figcaption>
              <code>{path}</code> <span class="soft">{changeWord(before, now)}</span>
            </figcaption>
            <DiffView before={before} after={now} label={`Change of ${path}`} />
          </figure>
        ),
      )}
    </div>
  );
}

function changeWord(before: string | null, now: string | null): string {
  if (before === null) return "added";
  return now === null ? "deleted" : "edited";
}

/** Restores the files as they were before the first call that changed them and has not been restored. */
async function restoreFirstFiles(): Promise<void> {
  const calls = await callRoute("checkpoints.list", { project: "price-list" });
  const restored = calls.findLastIndex(({ type }) => type === "state.restored");
  const first = calls[restored + 1];
  if (first === undefined || first.step_id === null) return;
  const at = { runId: first.run_id, stepId: first.step_id, side: "before" as const };
  await callRoute("checkpoints.restore", { at, reason: "restored from the page of the demo" });
}
