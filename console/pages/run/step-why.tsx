import type { VNode } from "preact";
import { demandText } from "../../../src/core/approval/approval-demand.ts";
import { pagePaths } from "../../../src/http-api/page-paths.ts";
import { JsonView } from "../../components/json-view.tsx";
import { RelativeTime } from "../../components/relative-time.tsx";
import { SafeText } from "../../components/safe-text.tsx";
import { StatusPill } from "../../components/status-pill.tsx";
import { decisionTones, decisionWords } from "./decision-words.ts";
import type { GateHistory, Verdict } from "./step-history.ts";
import { StepPart, type StepPartProps } from "./step-part.tsx";
import { stepStages } from "./step-stages.ts";

/** Why the call was allowed, held or refused: its stages, each decision with its rules, and the votes. */
export function StepWhy({ loaded, step, history }: StepPartProps): VNode {
  const stages = stepStages(step, history, (notice_id) => !loaded.view.run.notices.has(notice_id));
  return (
    <>
      <StepPart title="Stages of the call">
        {() => (
          <ol class="stages">
            {stages.map(({ name, outcome, facts }) => (
              <li key={name} class={`stage stage-${outcome.replace(" ", "-")}`}>
                <span class="stage-name">{name}</span>
                <span class="unseen">: {outcome}</span>
                {facts.map((fact, at) => (
                  <span key={at} class="stage-fact soft">
                    <SafeText text={fact} />
                  </span>
                ))}
              </li>
            ))}
          </ol>
        )}
      </StepPart>
      <StepPart title="Why" count={history.verdicts.length}>
        {() =>
          history.verdicts.length === 0 ? (
            <p class="soft">The journal has no decision about it: no rule objected, and no person was asked.</p>
          ) : (
            <ol class="verdicts">
              {history.verdicts.map((verdict) => (
                <VerdictLine key={verdict.position} verdict={verdict} />
              ))}
            </ol>
          )
        }
      </StepPart>
      {history.gates.length > 0 && (
        <StepPart title="Gates" count={history.gates.length}>
          {() => history.gates.map((gate) => <GatePart key={gate.gate_id} gate={gate} />)}
        </StepPart>
      )}
    </>
  );
}

function VerdictLine({ verdict }: { readonly verdict: Verdict }): VNode {
  const { decision, rule, reason, who, policy, passed, objections, at, position } = verdict;
  return (
    <li class="verdict">
      <p class="step-line">
        <StatusPill status={decisionWords[decision]} tone={decisionTones[decision]} />
        {rule !== null && (
          <span>
            by the rule{" "}
            <b>
              <SafeText text={rule} />
            </b>
          </span>
        )}
        {who !== null && (
          <span>
            {decision === "held" ? "for " : "by "}
            <b>
              <SafeText text={who} />
            </b>
          </span>
        )}
        <span class="soft small">
          <RelativeTime at={at} /> · event {position}
        </span>
      </p>
      {reason !== "" && (
        <p>
          <SafeText text={reason} />
        </p>
      )}
      {objections.length > 0 && (
        <ul class="small">
          {objections.map((each, index) => (
            <li key={index}>
              <SafeText text={each.rule} /> says {each.says}: <SafeText text={each.reason} />
            </li>
          ))}
        </ul>
      )}
      {passed.length > 0 && (
        <p class="small soft">
          Allowed by <SafeText text={passed.join(", ")} />
        </p>
      )}
      {policy !== null && (
        <p class="small soft">
          Policy <code>{policy}</code>
        </p>
      )}
    </li>
  );
}

const voteWords = {
  approve: "approved",
  edit: "approved with another input",
  reject: "rejected",
  refused: "was refused",
};

function GatePart({ gate }: { readonly gate: GateHistory }): VNode {
  const { gate_id, opened, status, votes } = gate;
  return (
    <div class="stack-small">
      <p class="step-line">
        <StatusPill status={status} />
        <a class="mono" href={pagePaths.gate(gate_id)} title={gate_id}>
          …{gate_id.slice(-8)}
        </a>
        <span class="soft small">
          opened <RelativeTime at={opened.at} />, expires <RelativeTime at={opened.expires_at} />
        </span>
      </p>
      <p>
        Needs {demandText(gate.demand)}. <SafeText text={opened.reason} />
      </p>
      {opened.call.caution !== undefined && (
        <div class="note note-danger">
          <SafeText text={opened.call.caution} />
        </div>
      )}
      {opened.stale !== undefined && (
        <p class="small soft">
          <SafeText text={opened.stale.message} />
        </p>
      )}
      {votes.map(({ by, at, says, reason }) => (
        <p key={`${by.id} ${at}`}>
          <b>
            <SafeText text={by.id} />
          </b>{" "}
          {voteWords[says]} <RelativeTime at={at} />
          {reason !== "" && (
            <>
              : <SafeText text={reason} />
            </>
          )}
        </p>
      ))}
      {opened.preview !== undefined && <JsonView value={opened.preview as never} label="Preview" foldFrom={2} />}
    </div>
  );
}
