import type { VNode } from "preact";
import { useEffect } from "preact/hooks";
import { useRoute } from "preact-iso";
import "../run/run.css";
import "./session.css";
import { runStatus } from "../../../src/core/run/run.ts";
import type { SessionTurn } from "../../../src/engine/api/open-run-api.ts";
import { pagePaths } from "../../../src/http-api/page-paths.ts";
import { callRoute } from "../../api/call-route.ts";
import { costText } from "../../components/cost-text.ts";
import { EmptyState } from "../../components/empty-state.tsx";
import { PageHeader } from "../../components/page-header.tsx";
import { ProblemNote } from "../../components/problem-note.tsx";
import { RelativeTime } from "../../components/relative-time.tsx";
import { SafeText } from "../../components/safe-text.tsx";
import { StatusPill } from "../../components/status-pill.tsx";
import { type ServerValue, useServerValue } from "../../live/use-server-value.ts";
import { RunActions } from "../run/run-actions.tsx";
import { type LoadedRun, useRun } from "../run/use-run.ts";
import { SessionTurnPart } from "./session-turn.tsx";

/** An open run as a conversation: messages, answers of the model, calls and held calls, in order. */
export function SessionPage(): VNode {
  const { params } = useRoute();
  const run_id = params.id ?? "";
  const [loading, reload] = useRun(run_id);
  if (loading.is === "loaded") return <LoadedSession key={run_id} loaded={loading} />;
  return (
    <>
      <PageHeader title="Session" />
      {loading.is === "loading" && (
        <p class="soft" aria-busy="true">
          Reading the conversation …
        </p>
      )}
      {loading.is === "failed" && <ProblemNote problem={loading.problem} onRetry={reload} />}
      {loading.is === "erased" && (
        <EmptyState title="The journal of this run was erased">
          Retention keeps the hashes and the receipts of its acts, and no contents.
        </EmptyState>
      )}
    </>
  );
}

function LoadedSession({ loaded }: { readonly loaded: LoadedRun }): VNode {
  const { view } = loaded;
  const { run_id } = view;
  const turns = useServerValue(`turns of ${run_id}`, () => callRoute("run.turns", { run_id }));
  useTurnsOfNow(turns, loaded);
  const left = leftAnswers(loaded);
  return (
    <>
      <SessionHeader loaded={loaded} />
      <ProblemNote problem={turns.problem} onRetry={turns.reload} />
      {turns.value?.length === 0 && (
        <EmptyState title="The agent has not said or called anything yet">
          Its messages, the answers of its model and its calls appear here.
        </EmptyState>
      )}
      <ol class="conversation" aria-label="Conversation">
        {turns.value?.map((turn, at) => (
          <SessionTurnPart
            key={turn.model?.step_id ?? turn.calls[0]?.step_id ?? at}
            turn={turn}
            isLeft={turn.model !== null && left.has(turn.model.step_id)}
            loaded={loaded}
            onDecided={turns.reload}
          />
        ))}
      </ol>
      {view.run.ended !== null && (
        <p class="soft conversation-end">
          The run ended <RelativeTime at={view.run.ended.at} /> as {view.run.ended.status}.
        </p>
      )}
    </>
  );
}

/** Reads the turns again after new events. While they are being read, further events lead to one more reading. */
function useTurnsOfNow({ reload }: ServerValue<readonly SessionTurn[]>, { view, version }: LoadedRun): void {
  useEffect(() => {
    if (version <= 1) return;
    const timer = setTimeout(() => void reload(), 120);
    return () => clearTimeout(timer);
  }, [view.position]);
}

/** Returns the model calls whose answers a branch has left. */
function leftAnswers({ view }: LoadedRun): ReadonlySet<string> {
  const left = new Set<string>();
  for (const { event } of view.entries)
    if (event.type === "run.branched") for (const step_id of event.dropped) left.add(step_id);
  return left;
}

function SessionHeader({ loaded }: { readonly loaded: LoadedRun }): VNode {
  const { run } = loaded.view;
  const { agent, subject, segment = 1, previous } = run.opened ?? {};
  const cost = costText(run.spent);
  return (
    <PageHeader
      title={<SafeText text={run.listing.title ?? run.session ?? run.id} />}
      beside={<StatusPill status={run.ended?.as ?? runStatus(run)} />}
      actions={<RunActions loaded={loaded} />}
    >
      {agent !== undefined && (
        <span>
          agent <SafeText text={agent.name} />
          {agent.version !== undefined && <SafeText text={` ${agent.version}`} />}
        </span>
      )}
      {subject !== undefined && (
        <span>
          about <SafeText text={subject} />
        </span>
      )}
      {run.session !== null && (
        <span>
          session <SafeText text={run.session} />
        </span>
      )}
      <span>
        {run.steps.length} {run.steps.length === 1 ? "step" : "steps"}, opened <RelativeTime at={run.accepted_at} />
      </span>
      {cost !== "" && <span>{cost}</span>}
      <a href={pagePaths.run(run.id)}>Steps and times</a>
      {previous !== undefined && <a href={`/sessions/${encodeURIComponent(previous)}`}>Part {segment - 1}</a>}
    </PageHeader>
  );
}
