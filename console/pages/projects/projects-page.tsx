import type { VNode } from "preact";
import { useState } from "preact/hooks";
import type { ProjectView } from "../../../src/engine/api/project-api.ts";
import { callRoute } from "../../api/call-route.ts";
import { addressOf } from "../../app/url-query.ts";
import { DataTable, type TableColumn } from "../../components/data-table.tsx";
import { EmptyState } from "../../components/empty-state.tsx";
import { PageHeader } from "../../components/page-header.tsx";
import { ProblemNote } from "../../components/problem-note.tsx";
import { RunLink } from "../../components/run-link.tsx";
import { SafeText } from "../../components/safe-text.tsx";
import { StatusPill } from "../../components/status-pill.tsx";
import { useServerValue } from "../../live/use-server-value.ts";

const pageSize = 100;

/** The projects of the tenant that have a state. */
export function ProjectsPage(): VNode {
  const [count, setCount] = useState(pageSize);
  const { value, problem, reload } = useServerValue(
    `projects ${count}`,
    () => callRoute("projects.list", { limit: Math.min(1000, count) }),
    { follows: () => true },
  );
  return (
    <>
      <PageHeader title="Projects" />
      <div class="stack">
        <ProblemNote problem={problem} onRetry={reload} />
        {value !== null && (
          <DataTable
            label="Projects"
            columns={columns}
            rows={value}
            keyOf={({ project }) => project}
            empty={
              <EmptyState title="No project has a state yet">
                <p>
                  Runs of one project share a state: submit them with <code>project</code>, and let a tool that writes
                  change a slice. Every change is a version, which can be shown, compared and restored here.
                </p>
              </EmptyState>
            }
          />
        )}
        {value !== null && value.length === count && count < 1000 && (
          <button type="button" class="button button-quiet" onClick={() => setCount(count + pageSize)}>
            Show more
          </button>
        )}
      </div>
    </>
  );
}

const columns: readonly TableColumn<ProjectView>[] = [
  {
    title: "Project",
    fit: "wide",
    cell: ({ project }) => (
      <a href={`/projects/${encodeURIComponent(project)}`}>
        <SafeText text={project} />
      </a>
    ),
  },
  {
    title: "State",
    cell: ({ closure }) =>
      closure === null ? <StatusPill status="open" tone="good" /> : <StatusPill status={closure.how} tone="hold" />,
  },
  { title: "Version", fit: "number", cell: ({ version }) => version },
  { title: "Changed by", cell: ({ run_id }) => <RunLink run_id={run_id} /> },
  { title: "Runs", fit: "short", cell: ({ project }) => <a href={addressOf("/runs", { project })}>its runs</a> },
];
