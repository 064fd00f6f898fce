import type { VNode } from "preact";
import type { JsonObject } from "../../../src/core/values/json.ts";
import { hasScope } from "../../api/browser-login.ts";
import { callRoute } from "../../api/call-route.ts";
import { useUrlQuery } from "../../app/url-query.ts";
import { EmptyState } from "../../components/empty-state.tsx";
import { PageHeader } from "../../components/page-header.tsx";
import { ProblemNote } from "../../components/problem-note.tsx";
import { SafeText } from "../../components/safe-text.tsx";
import { useServerValue } from "../../live/use-server-value.ts";
import { isSamePlace, type PolicyPlace, placeOf } from "./policy-draft.ts";
import { PolicyEditor } from "./policy-editor.tsx";
import { PolicyHistory } from "./policy-history.tsx";
import "./policies-page.css";

/** The stored policies of the tenant: read, edit, test and publish them, and see who changed them. */
export function PoliciesPage(): VNode {
  const { query, change } = useUrlQuery();
  const { value, problem, reload } = useServerValue("policies", () => callRoute("policies.list", {}));
  const isNew = query.new === "1";
  const isHistory = query.view === "history";
  const hasPolicies = value !== null && value.length > 0;
  const open: PolicyPlace | null =
    query.name === undefined || isNew
      ? null
      : { name: query.name, project: query.project ?? null, session: query.session ?? null };
  const show = (fields: Readonly<Record<string, string | null>>) =>
    change({ name: null, project: null, session: null, new: null, view: null, tab: null, ...fields }, "push");
  return (
    <>
      <PageHeader
        title="Policies"
        actions={
          <>
            <button
              type="button"
              class="button button-quiet"
              aria-pressed={isHistory}
              onClick={() => show({ view: isHistory ? null : "history" })}
            >
              All changes
            </button>
            <button type="button" class="button" disabled={!hasScope("admin")} onClick={() => show({ new: "1" })}>
              New policy
            </button>
          </>
        }
      />
      <ProblemNote problem={problem} onRetry={reload} />
      {value !== null && !hasPolicies && !isNew && !isHistory && <NoPolicies />}
      <div class={hasPolicies ? "policy-columns" : ""}>
        {hasPolicies && (
          <PolicyList
            documents={value}
            open={open}
            onOpen={({ name, project, session }) => show({ name, project, session })}
          />
        )}
        {isHistory && <PolicyHistory place={null} />}
        {isNew && <PolicyEditor key="new" place={null} onStored={reload} />}
        {open !== null && <PolicyEditor key={JSON.stringify(open)} place={open} onStored={reload} />}
        {open === null && !isNew && !isHistory && hasPolicies && (
          <EmptyState title="Choose a policy">
            <p>Its rules can be edited, tested with recorded calls, and published here.</p>
          </EmptyState>
        )}
      </div>
    </>
  );
}

interface PolicyListProps {
  readonly documents: readonly JsonObject[];
  readonly open: PolicyPlace | null;
  readonly onOpen: (place: PolicyPlace) => void;
}

function PolicyList({ documents, open, onOpen }: PolicyListProps): VNode {
  const places = documents.map((document) => ({ document, place: placeOf(document) }));
  return (
    <nav class="panel policy-list" aria-label="Stored policies">
      <ul>
        {places.map(({ document, place }) => (
          <li key={JSON.stringify(place)}>
            <button
              type="button"
              class="policy-row"
              aria-current={open !== null && isSamePlace(open, place) ? "true" : undefined}
              onClick={() => onOpen(place)}
            >
              <SafeText text={place.name} />
              <span class="soft small">
                <PlaceText place={place} /> · {ruleCount(document)}
              </span>
            </button>
          </li>
        ))}
      </ul>
    </nav>
  );
}

function ruleCount({ rules }: JsonObject): string {
  const count = Array.isArray(rules) ? rules.length : 0;
  return count === 1 ? "1 rule" : `${count} rules`;
}

function PlaceText({ place: { project, session } }: { readonly place: PolicyPlace }): VNode {
  if (project === null) return <>whole tenant</>;
  return <SafeText text={session === null ? `project ${project}` : `session ${session} of ${project}`} />;
}

function NoPolicies(): VNode {
  return (
    <EmptyState title="No policy is stored">
      <p>
        A policy is a list of rules: which calls are allowed, which wait for an approval, which are refused, and what
        may be spent. Policies in <code>writ.config.mjs</code> apply too, and are not listed here.
      </p>
      <p>
        <a href="/policies?new=1">Write the first one</a>
      </p>
    </EmptyState>
  );
}
