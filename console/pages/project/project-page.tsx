import type { VNode } from "preact";
import { useState } from "preact/hooks";
import { useRoute } from "preact-iso";
import type { ProjectVersion } from "../../../src/engine/api/project-api.ts";
import { callRoute } from "../../api/call-route.ts";
import { useKeys } from "../../app/key-bindings.ts";
import { addressOf, useUrlQuery } from "../../app/url-query.ts";
import { EmptyState } from "../../components/empty-state.tsx";
import { PageHeader } from "../../components/page-header.tsx";
import { ProblemNote } from "../../components/problem-note.tsx";
import { SafeText } from "../../components/safe-text.tsx";
import { useServerValue } from "../../live/use-server-value.ts";
import { ProjectClosure } from "./project-closure.tsx";
import { VersionList } from "./version-list.tsx";
import { VersionView } from "./version-view.tsx";
import "./project-page.css";

const pageSize = 50;

/** The versions of the state of a project: each can be shown, compared, restored and forked. */
export function ProjectPage(): VNode {
  const project = String(useRoute().params.id ?? "");
  const { query, change } = useUrlQuery();
  const [count, setCount] = useState(pageSize);
  const { value, problem, reload } = useServerValue(
    `versions of ${project} ${count}`,
    () => callRoute("projects.history", { project, limit: count }),
    { follows: () => true },
  );
  const versions = value ?? [];
  const latest = versions[0]?.version ?? 0;
  const version = query.version === undefined ? latest : Number(query.version);
  const select = (to: number) => change({ version: String(to) });
  useVersionKeys(versions, version, select);
  return (
    <>
      <PageHeader
        title={<SafeText text={project} />}
        actions={
          <>
            <a class="button button-quiet" href={addressOf("/runs", { project })}>
              Its runs
            </a>
            <ProjectClosure project={project} />
          </>
        }
      >
        <a href="/projects">All projects</a>
        {latest > 0 && <span>{latest === 1 ? "1 version" : `${latest} versions`}</span>}
      </PageHeader>
      <ProblemNote problem={problem} onRetry={reload} />
      {value !== null && versions.length === 0 && (
        <EmptyState title="This project has no state">
          <p>
            A run of this project that calls a tool with the effect <code>writes</code> makes the first version.
          </p>
        </EmptyState>
      )}
      {versions.length > 0 && (
        <div class="project-columns">
          <VersionList
            versions={versions}
            selected={version}
            onSelect={select}
            onMore={versions.length === count ? () => setCount(count + pageSize) : null}
          />
          <VersionView
            project={project}
            version={version}
            latest={latest}
            made={versions.find((each) => each.version === version) ?? null}
          />
        </div>
      )}
    </>
  );
}

function useVersionKeys(versions: readonly ProjectVersion[], version: number, select: (version: number) => void): void {
  const at = versions.findIndex((each) => each.version === version);
  const move = (by: number) => {
    const next = versions[at + by];
    if (next !== undefined) select(next.version);
  };
  useKeys([
    { key: "j", does: "older version", run: () => move(1) },
    { key: "k", does: "newer version", run: () => move(-1) },
  ]);
}
