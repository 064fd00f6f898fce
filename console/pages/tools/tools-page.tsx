import type { VNode } from "preact";
import { useMemo } from "preact/hooks";
import type { ToolActivity } from "../../../src/engine/api/activity-api.ts";
import type { ToolView } from "../../../src/engine/api/tool-api.ts";
import { callRoute } from "../../api/call-route.ts";
import { useUrlQuery } from "../../app/url-query.ts";
import { DataTable, type TableColumn } from "../../components/data-table.tsx";
import { EffectMark } from "../../components/effect-mark.tsx";
import { EmptyState } from "../../components/empty-state.tsx";
import { PageHeader } from "../../components/page-header.tsx";
import { ProblemNote } from "../../components/problem-note.tsx";
import { RelativeTime } from "../../components/relative-time.tsx";
import { durationText } from "../../components/relative-time-text.ts";
import { SafeText } from "../../components/safe-text.tsx";
import { useServerValue } from "../../live/use-server-value.ts";
import { ToolDrawer } from "./tool-drawer.tsx";
import { successText } from "./tool-success.ts";
import "./tools-page.css";

/** A tool of the server, one that recorded runs have called, or both. */
export interface KnownTool {
  readonly name: string;
  /** Null: the server does not have it now. */
  readonly view: ToolView | null;
  /** Null: the latest runs have not called it. */
  readonly activity: ToolActivity | null;
}

const runsRead = 200;

/** The tools of the server with their guarantees, and what they did in the latest runs. */
export function ToolsPage(): VNode {
  const { query, change } = useUrlQuery();
  const tools = useServerValue("tools", () => callRoute("tools.list", {}));
  const report = useServerValue("activity", () => callRoute("tools.activity", { runs: runsRead }));
  const known = useMemo(() => knownTools(tools.value ?? [], report.value?.tools ?? []), [tools.value, report.value]);
  const wanted = (query.find ?? "").toLowerCase();
  const shown = known.filter(({ name }) => name.toLowerCase().includes(wanted));
  const open = known.find(({ name }) => name === query.tool);
  return (
    <>
      <PageHeader
        title="Tools"
        actions={
          <label class="field tool-find">
            <span class="unseen">Find a tool</span>
            <input
              type="search"
              placeholder="Find a tool"
              value={query.find ?? ""}
              onInput={({ currentTarget }) => change({ find: currentTarget.value })}
            />
          </label>
        }
      >
        {report.value !== null && <ReadNote {...report.value} />}
      </PageHeader>
      <div class="stack">
        <ProblemNote problem={tools.problem ?? report.problem} onRetry={tools.reload} />
        {tools.value !== null && (
          <DataTable
            label="Tools"
            columns={columns((name) => change({ tool: name }, "push"))}
            rows={shown}
            keyOf={({ name }) => name}
            empty={<NoTools isSearched={wanted !== ""} />}
          />
        )}
      </div>
      {open !== undefined && <ToolDrawer tool={open} onClose={() => change({ tool: null })} />}
    </>
  );
}

function knownTools(views: readonly ToolView[], activities: readonly ToolActivity[]): readonly KnownTool[] {
  const activityOf = new Map(activities.map((activity) => [activity.tool, activity]));
  const own = views.map((view) => ({ name: view.name, view, activity: activityOf.get(view.name) ?? null }));
  const names = new Set(own.map(({ name }) => name));
  const gone = activities.filter(({ tool }) => !names.has(tool));
  return [...own, ...gone.map((activity) => ({ name: activity.tool, view: null, activity }))];
}

function columns(onOpen: (name: string) => void): readonly TableColumn<KnownTool>[] {
  return [
    {
      title: "Tool",
      fit: "short",
      cell: ({ name, view }) => (
        <>
          <button type="button" class="text-link" onClick={() => onOpen(name)}>
            <SafeText text={name} />
          </button>
          {view === null ? (
            <span class="soft small"> not on this server</span>
          ) : (
            <span class="soft small">
              {" "}
              <SafeText text={view.version} />
            </span>
          )}
        </>
      ),
    },
    { title: "Effect", cell: ({ view }) => view !== null && <EffectMark effect={view.effect} /> },
    { title: "Risk", cell: ({ view }) => view?.risk, onNarrow: false },
    {
      title: "Guarantee",
      fit: "wide",
      cell: ({ view }) => view !== null && <span class="small">{view.guarantee}</span>,
    },
    { title: "Calls", fit: "number", cell: ({ activity }) => activity?.calls ?? "–" },
    { title: "Succeeded", fit: "number", cell: ({ activity }) => (activity === null ? "–" : successText(activity)) },
    { title: "Median", fit: "number", cell: ({ activity }) => timeText(activity?.p50_ms), onNarrow: false },
    { title: "95 %", fit: "number", cell: ({ activity }) => timeText(activity?.p95_ms), onNarrow: false },
    {
      title: "Last used",
      fit: "number",
      cell: ({ activity }) => (activity === null ? "–" : <RelativeTime at={activity.last_at} />),
    },
  ];
}

function timeText(ms: number | null | undefined): string {
  return ms === null || ms === undefined ? "–" : durationText(ms);
}

function ReadNote({
  runs,
  since,
  complete,
}: {
  readonly runs: number;
  readonly since: number | null;
  readonly complete: boolean;
}) {
  if (since === null) return <span>No run has called a tool yet.</span>;
  return (
    <span>
      Calls and times are those of {complete ? "all" : "the latest"} {runs} runs, since <RelativeTime at={since} />.
    </span>
  );
}

function NoTools({ isSearched }: { readonly isSearched: boolean }): VNode {
  if (isSearched) return <EmptyState title="No tool has this name" />;
  return (
    <EmptyState title="This server has no tools">
      <p>
        Tools are defined with <code>defineTool</code> in the <code>tools</code> of <code>writ.config.mjs</code>. An
        agent process can also register its own. <code>writ init</code> writes an example.
      </p>
    </EmptyState>
  );
}
