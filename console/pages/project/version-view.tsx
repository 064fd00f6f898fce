import type { VNode } from "preact";
import { useMemo, useState } from "preact/hooks";
import type { Json } from "../../../src/core/values/json.ts";
import type { ProjectVersion } from "../../../src/engine/api/project-api.ts";
import { callRoute } from "../../api/call-route.ts";
import { useUrlQuery } from "../../app/url-query.ts";
import { DiffView } from "../../components/diff-view.tsx";
import { JsonView } from "../../components/json-view.tsx";
import { ProblemNote } from "../../components/problem-note.tsx";
import { RelativeTime } from "../../components/relative-time.tsx";
import { RunLink } from "../../components/run-link.tsx";
import { SafeText } from "../../components/safe-text.tsx";
import { Tabs } from "../../components/tabs.tsx";
import { useServerValue } from "../../live/use-server-value.ts";
import { VersionActions } from "./version-actions.tsx";
import { type EntryChange, stateChanges } from "./version-changes.ts";

interface VersionViewProps {
  readonly project: string;
  readonly version: number;
  readonly latest: number;
  /** Null: the version is not among those that are listed. */
  readonly made: ProjectVersion | null;
}

const changesShown = 50;

/** One version: its changes against another one, its whole state, and the way back to it. */
export function VersionView({ project, version, latest, made }: VersionViewProps): VNode {
  const { query, change } = useUrlQuery();
  const view = query.view === "state" ? "state" : "changes";
  const against = query.against === undefined ? Math.max(0, version - 1) : Number(query.against);
  const stateOf = (of: number) => callRoute("state", { project, version: of });
  const state = useServerValue(`state ${project} ${version}`, () => stateOf(version));
  const other = useServerValue(view === "changes" ? `state ${project} ${against}` : null, () => stateOf(against));
  return (
    <section class="panel" aria-label={`Version ${version}`}>
      <div class="panel-head">
        <h2>Version {version}</h2>
        <VersionActions project={project} version={version} isLatest={version === latest} made={made} />
      </div>
      <div class="panel-body stack">
        {made !== null && <MadeBy made={made} />}
        <Tabs
          label="View of the version"
          selected={view}
          onSelect={(id) => change({ view: id })}
          tabs={[
            { id: "changes", title: "Changes" },
            { id: "state", title: "Whole state" },
          ]}
        />
        <ProblemNote problem={state.problem ?? other.problem} onRetry={state.reload} />
        {view === "state" && state.value !== null && <Slices slices={state.value.slices} />}
        {view === "changes" && (
          <>
            <label class="field against">
              Compared with version
              <input
                type="number"
                min={0}
                max={latest}
                value={against}
                onChange={({ currentTarget }) => change({ against: currentTarget.value })}
              />
            </label>
            {state.value !== null && other.value !== null && (
              <Changes before={other.value.slices} after={state.value.slices} />
            )}
          </>
        )}
      </div>
    </section>
  );
}

function MadeBy({ made: { run_id, step_id, tool, by, at } }: { readonly made: ProjectVersion }): VNode {
  return (
    <p class="small">
      Made <RelativeTime at={at} /> by <SafeText text={by} />
      {tool !== null && (
        <>
          {" with "}
          <SafeText text={tool} />
        </>
      )}
      {" in "}
      <RunLink run_id={run_id} />
      {step_id !== null && (
        <>
          {", step "}
          <SafeText text={step_id} />
        </>
      )}
    </p>
  );
}

type Slices = Parameters<typeof stateChanges>[0];

function Slices({ slices }: { readonly slices: Slices }): VNode {
  const names = Object.keys(slices).sort();
  if (names.length === 0) return <p class="soft">The state is empty.</p>;
  return (
    <>
      {names.map((name) => (
        <div key={name}>
          <h3>
            <SafeText text={name} />
          </h3>
          <JsonView value={(slices[name]?.entries ?? null) as Json} label={`Slice ${name}`} foldFrom={2} />
        </div>
      ))}
    </>
  );
}

function Changes({ before, after }: { readonly before: Slices; readonly after: Slices }): VNode {
  const changes = useMemo(() => stateChanges(before, after), [before, after]);
  const [count, setCount] = useState(changesShown);
  if (changes.length === 0) return <p class="soft">These versions are equal.</p>;
  return (
    <>
      {changes.slice(0, count).map((each) => (
        <Change key={`${each.slice} ${each.key}`} change={each} />
      ))}
      {changes.length > count && (
        <button type="button" class="button button-quiet" onClick={() => setCount(count + changesShown)}>
          {changes.length - count} more entries
        </button>
      )}
    </>
  );
}

function Change({ change: { slice, key, before, after } }: { readonly change: EntryChange }): VNode {
  const what = before === null ? "added" : after === null ? "removed" : "changed";
  return (
    <div>
      <h3 class="change-name">
        <SafeText text={`${slice} / ${key}`} /> <span class="soft small">{what}</span>
      </h3>
      <DiffView before={before} after={after} label={`${slice} ${key}`} />
    </div>
  );
}
