import type { VNode } from "preact";
import { type Run, runStatus } from "../../../src/core/run/run.ts";
import { pagePaths } from "../../../src/http-api/page-paths.ts";
import { CopyButton } from "../../components/copy-button.tsx";
import { costText } from "../../components/cost-text.ts";
import { PageHeader } from "../../components/page-header.tsx";
import { RelativeTime } from "../../components/relative-time.tsx";
import { durationText } from "../../components/relative-time-text.ts";
import { SafeText } from "../../components/safe-text.tsx";
import { StatusPill } from "../../components/status-pill.tsx";
import { RunActions } from "./run-actions.tsx";
import type { LoadedRun } from "./use-run.ts";

/** The title of a run, its state, where it belongs, and its actions. */
export function RunHeader({ loaded }: { readonly loaded: LoadedRun }): VNode {
  const { view } = loaded;
  const { run } = view;
  const status = loaded.isCaughtUp ? (run.ended?.as ?? runStatus(run)) : (loaded.now?.status ?? "reading");
  const end = run.ended?.at ?? null;
  const cost = costText(run.spent);
  return (
    <PageHeader
      title={<SafeText text={titleOf(run)} />}
      beside={<StatusPill status={status} />}
      actions={<RunActions loaded={loaded} />}
    >
      <span class="run-id">
        <code>{run.id}</code> <CopyButton text={() => run.id} label="Copy the id of the run" />
      </span>
      <span>
        by <SafeText text={run.principal.id} />, {run.mode.replaceAll("_", " ")}
      </span>
      <span>
        accepted <RelativeTime at={run.accepted_at} />
        {end !== null && `, took ${durationText(end - run.accepted_at)}`}
      </span>
      {loaded.isCaughtUp && (
        <span>
          {run.paces.done} of {run.steps.length} steps done
        </span>
      )}
      {(run.replanning?.plans ?? 1) > 1 && <span>continues with plan {run.replanning?.plans}</span>}
      {cost !== "" && <span>{cost}</span>}
      <RunLinks loaded={loaded} />
    </PageHeader>
  );
}

/** The id stands below the title, so it is the title only of a run that has nothing else. */
function titleOf({ listing, plan, session, steps, id }: Run): string {
  return listing.title ?? plan?.plan_id ?? session ?? (steps.length > 0 ? steps.get(0).spec.name : id);
}

function RunLinks({ loaded: { view } }: { readonly loaded: LoadedRun }): VNode {
  const { run } = view;
  return (
    <>
      {run.project !== null && (
        <span>
          project <a href={`/projects/${encodeURIComponent(run.project)}`}>{<SafeText text={run.project} />}</a>
        </span>
      )}
      {run.opened !== null && <a href={`/sessions/${encodeURIComponent(run.id)}`}>Read it as a conversation</a>}
      {run.parent !== null && (
        <span>
          started by <a href={pagePaths.step(run.parent.run_id, run.parent.step_id)}>a step of its parent</a>
        </span>
      )}
      {run.forked !== null && (
        <span>
          forked {run.forked.side}{" "}
          <a href={pagePaths.step(run.forked.run_id, run.forked.step_id)}>{run.forked.step_id}</a>
        </span>
      )}
      {run.listing.labels.map((label) => (
        <span key={label} class="pill">
          <SafeText text={label} />
        </span>
      ))}
    </>
  );
}
