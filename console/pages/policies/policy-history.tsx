import type { VNode } from "preact";
import { useState } from "preact/hooks";
import type { PolicyVersion } from "../../../src/engine/api/policy-api.ts";
import { callRoute } from "../../api/call-route.ts";
import { DiffView } from "../../components/diff-view.tsx";
import { ProblemNote } from "../../components/problem-note.tsx";
import { RelativeTime } from "../../components/relative-time.tsx";
import { SafeText } from "../../components/safe-text.tsx";
import { StatusPill } from "../../components/status-pill.tsx";
import { useServerValue } from "../../live/use-server-value.ts";
import { isSamePlace, type PolicyPlace, policyText } from "./policy-draft.ts";

interface HistoryProps {
  /** Null: the changes of all policies. */
  readonly place: PolicyPlace | null;
  readonly onTake?: (text: string) => void;
}

const versionsRead = 200;

/** The changes of policies, newest first: who, when, why, and the difference to the version before. */
export function PolicyHistory({ place, onTake }: HistoryProps): VNode {
  const { value, problem, reload } = useServerValue("history", () =>
    callRoute("policies.history", { limit: versionsRead }),
  );
  const all = value ?? [];
  const shown = place === null ? all : all.filter((each) => isSamePlace(each, place));
  return (
    <section aria-label="History" class="stack">
      <ProblemNote problem={problem} onRetry={reload} />
      {value !== null && shown.length === 0 && <p class="soft">No policy was ever stored.</p>}
      <ol class="policy-history">
        {shown.map((version) => (
          <li key={version.version}>
            <Version
              version={version}
              before={all.find((each) => each.version < version.version && isSamePlace(each, version)) ?? null}
              {...(onTake !== undefined && { onTake })}
            />
          </li>
        ))}
      </ol>
    </section>
  );
}

interface VersionProps {
  readonly version: PolicyVersion;
  readonly before: PolicyVersion | null;
  readonly onTake?: (text: string) => void;
}

function Version({ version, before, onTake }: VersionProps): VNode {
  const [isOpen, setOpen] = useState(false);
  const { document, name, by, at, reason } = version;
  const old = before?.document ?? null;
  const what = document === null ? "removed" : old === null ? "stored" : "changed";
  return (
    <div class="panel panel-body">
      <p>
        <span class="mono soft">{version.version}</span> <SafeText text={name} />{" "}
        <StatusPill status={what} tone={what === "removed" ? "danger" : what === "stored" ? "good" : "soft"} />{" "}
        <span class="soft small">
          <RelativeTime at={at} /> by <SafeText text={by} />
        </span>
      </p>
      {reason !== "" && (
        <p>
          <SafeText text={reason} />
        </p>
      )}
      <p class="row-actions">
        <button type="button" class="button button-quiet" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
          {isOpen ? "Hide the difference" : "Show the difference"}
        </button>
        {document !== null && onTake !== undefined && (
          <button type="button" class="button button-quiet" onClick={() => onTake(policyText(document))}>
            Edit this version
          </button>
        )}
      </p>
      {isOpen && (
        <DiffView
          before={old === null ? null : policyText(old)}
          after={document === null ? null : policyText(document)}
          label={`Version ${version.version}`}
        />
      )}
    </div>
  );
}
