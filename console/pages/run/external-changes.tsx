import type { VNode } from "preact";
import type { VerifiedChange } from "../../../src/core/event/verified-act.ts";
import type { ExternalChange } from "../../../src/core/tool/external-change.ts";
import { SafeText } from "../../components/safe-text.tsx";
import { StatusPill } from "../../components/status-pill.tsx";
import { StepPart, type StepPartProps } from "./step-part.tsx";

const tones = {
  confirmed: "good",
  different: "danger",
  missing: "danger",
  unknown: "soft",
  not_verifiable: "soft",
} as const;

/** The changes outside that the call has put on record, each with the latest finding of its verifier. */
export function ExternalChanges({ loaded, step, history }: StepPartProps): VNode | null {
  const { external } = history;
  if (external.length === 0) return null;
  const findings = latestFindings(loaded, step.spec.step_id);
  return (
    <StepPart title="Changes outside" count={external.length}>
      {() => (
        <ul class="stack-small">
          {external.map((change) => {
            const found = findings.find((finding) => isSame(finding.change, change));
            return (
              <li key={`${change.type} ${change.id} ${change.operation}`}>
                <p>
                  <SafeText text={change.operation} /> <code>{<SafeText text={`${change.type} ${change.id}`} />}</code>{" "}
                  {found !== undefined && <StatusPill status={found.found} tone={tones[found.found]} />}
                </p>
                <p class="small soft">
                  <SafeText text={detailText(change, found?.why ?? null)} />
                </p>
              </li>
            );
          })}
        </ul>
      )}
    </StepPart>
  );
}

function latestFindings({ view }: StepPartProps["loaded"], step_id: string): readonly VerifiedChange[] {
  for (const { event } of view.entries.toReversed()) {
    if (event.type !== "run.verified") continue;
    const act = event.acts.find((each) => each.step_id === step_id);
    if (act?.changes !== undefined) return act.changes;
  }
  return [];
}

function isSame(left: ExternalChange, right: ExternalChange): boolean {
  return left.type === right.type && left.id === right.id && left.operation === right.operation;
}

function detailText({ version, etag, ref }: ExternalChange, why: string | null): string {
  const parts = [version && `version ${version}`, etag && `tag ${etag}`, ref, why];
  return parts.filter((part) => Boolean(part)).join(", ");
}
