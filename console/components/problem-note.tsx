import type { VNode } from "preact";
import type { ApiProblem } from "../api/problem.ts";
import { SafeText } from "./safe-text.tsx";

/** Shows a problem, and the next action of the person. */
export function ProblemNote({
  problem,
  onRetry,
}: {
  readonly problem: ApiProblem | null;
  readonly onRetry?: () => unknown;
}): VNode | null {
  if (problem === null) return null;
  return (
    <div class="note note-danger" role="alert">
      <p>
        <SafeText text={problem.message} />
      </p>
      <p class="soft">
        <SafeText text={problem.next} /> <code>{problem.code}</code>
        {problem.requestId !== null && <code> {problem.requestId}</code>}
      </p>
      {onRetry !== undefined && (
        <button type="button" class="button button-quiet" onClick={() => void onRetry()}>
          Try again
        </button>
      )}
    </div>
  );
}
