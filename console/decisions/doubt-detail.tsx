import type { VNode } from "preact";
import type { DoubtView } from "../../src/engine/api/list-api.ts";
import { pagePaths } from "../../src/http-api/page-paths.ts";
import { hasScope } from "../api/browser-login.ts";
import { JsonView } from "../components/json-view.tsx";
import { PageHeader } from "../components/page-header.tsx";
import { RelativeTime } from "../components/relative-time.tsx";
import { SafeText } from "../components/safe-text.tsx";
import { StatusPill } from "../components/status-pill.tsx";
import { useServerValue } from "../live/use-server-value.ts";
import { doubtEvidence } from "./doubt-evidence.ts";
import { DoubtForm } from "./doubt-form.tsx";
import { DecisionPart } from "./gate-call.tsx";
import type { ListedDoubt } from "./listed-doubt.ts";
import { readRunEvents, runTitle } from "./read-run-events.ts";

/** An act that may or may not have happened: its call, the evidence, and the ways to settle it. */
export function DoubtDetail({
  doubt,
  onSettled,
}: {
  readonly doubt: ListedDoubt;
  readonly onSettled: () => Promise<void>;
}): VNode {
  const { run_id, step_id, attempt, fault } = doubt;
  const { value: events } = useServerValue(`evidence ${run_id} ${step_id} ${attempt}`, () => readRunEvents(run_id), {
    follows: (change) => change.run_id === run_id,
  });
  const journal = (events ?? []).map(({ event }) => event);
  const evidence = doubtEvidence(journal, step_id);
  return (
    <article class="detail">
      <DoubtHeader doubt={doubt} title={runTitle(journal)} />
      <div class="stack">
        <p class="note note-doubt">
          <SafeText text={fault.message} />
        </p>
        {"input" in doubt && (
          <DecisionPart title="The call">
            <JsonView value={doubt.input} label="input" foldFrom={12} />
          </DecisionPart>
        )}
        <DecisionPart title="Evidence">
          <ul class="evidence">
            {evidence.map(({ at, what, value }) => (
              <li key={`${at} ${what}`}>
                <RelativeTime at={at} />
                <span>
                  <SafeText text={what} />
                  {value !== undefined && <JsonView value={value} label="evidence" />}
                </span>
              </li>
            ))}
          </ul>
          {"exits" in doubt && <DoubtOutlook doubt={doubt} />}
        </DecisionPart>
        {hasScope("decide") && <DoubtForm key={`${run_id}/${step_id}`} doubt={doubt} onSettled={onSettled} />}
      </div>
    </article>
  );
}

function DoubtHeader({ doubt, title }: { readonly doubt: ListedDoubt; readonly title: string | null }): VNode {
  const { run_id, step_id, tool, requester, since } = doubt;
  return (
    <PageHeader
      level={2}
      title={
        <>
          <span class="unseen">Act in doubt </span>
          <span class="mono-title">
            <SafeText text={tool} />
          </span>
        </>
      }
      beside={<StatusPill status="in_doubt" />}
    >
      <span>
        requested by <SafeText text={requester} />
      </span>
      <span>
        run{" "}
        <a href={pagePaths.step(run_id, step_id)} title={run_id}>
          {title === null ? `${run_id.slice(0, 14)}…` : <SafeText text={title} />}
        </a>
      </span>
      <span>
        in doubt since <RelativeTime at={since} />
      </span>
    </PageHeader>
  );
}

/** How the doubt can be settled without a person. */
function DoubtOutlook({ doubt }: { readonly doubt: DoubtView }): VNode {
  const { exits, waiting_for, look_at } = doubt;
  return (
    <p class="soft">
      {waiting_for === "person"
        ? "Only a person can settle it."
        : "Its verifier may settle it by itself; a person may do so now."}{" "}
      {look_at !== undefined && (
        <>
          The engine looks again <RelativeTime at={look_at} />.{" "}
        </>
      )}
      {exits.quiet_at > Date.now() && (
        <>
          The request may still be in transit: an absent effect proves nothing before{" "}
          <RelativeTime at={exits.quiet_at} />.
        </>
      )}
    </p>
  );
}
