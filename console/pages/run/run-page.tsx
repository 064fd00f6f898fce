import type { VNode } from "preact";
import { useRoute } from "preact-iso";
import "./run.css";
import { useKeys } from "../../app/key-bindings.ts";
import { EmptyState } from "../../components/empty-state.tsx";
import { PageHeader } from "../../components/page-header.tsx";
import { ProblemNote } from "../../components/problem-note.tsx";
import { Tabs } from "../../components/tabs.tsx";
import { NextAction } from "./next-action.tsx";
import { type PagePlace, type RunViewName, runViews, usePagePlace } from "./page-place.ts";
import { RunGraph } from "./run-graph.tsx";
import { RunHeader } from "./run-header.tsx";
import { RunStory } from "./run-story.tsx";
import { RunWaterfall } from "./run-waterfall.tsx";
import { StepDrawer } from "./step-drawer.tsx";
import { type LoadedRun, useRun } from "./use-run.ts";

/** One run: its graph, its times and its story, and any of its steps. */
export function RunPage(): VNode {
  const { params } = useRoute();
  const run_id = params.id ?? "";
  const [loading, reload] = useRun(run_id);
  if (loading.is === "loaded") return <LoadedRunPage key={run_id} loaded={loading} />;
  return (
    <>
      <PageHeader title="Run">
        <code>{run_id}</code>
      </PageHeader>
      {loading.is === "loading" && (
        <p class="soft" aria-busy="true">
          Reading the journal …
        </p>
      )}
      {loading.is === "failed" && <ProblemNote problem={loading.problem} onRetry={reload} />}
      {loading.is === "erased" && (
        <EmptyState title="The journal of this run was erased">
          Retention keeps the hashes and the receipts of its acts, and no contents. <a href="/audit">The audit</a> says
          when.
        </EmptyState>
      )}
    </>
  );
}

const titles: Readonly<Record<RunViewName, string>> = { graph: "Graph", waterfall: "Waterfall", story: "Story" };

function LoadedRunPage({ loaded }: { readonly loaded: LoadedRun }): VNode {
  const [place, move] = usePagePlace();
  const open = (step: string) => move({ step });
  useRunKeys(loaded, place, move);
  const index = place.step === null ? null : loaded.view.find(place.step);
  return (
    <>
      <RunHeader loaded={loaded} />
      <NextAction loaded={loaded} onStep={open} />
      <div class={place.step === null ? "run-body" : "run-body run-split"}>
        <div class="run-views">
          <Tabs
            label="Views of the run"
            tabs={runViews.map((id) => ({ id, title: titles[id] }))}
            selected={place.view}
            onSelect={(view) => move({ view })}
          />
          <div role="tabpanel" aria-label={titles[place.view]} class="run-view">
            <SelectedView loaded={loaded} place={place} onStep={open} />
          </div>
        </div>
        {place.step !== null && (
          <StepDrawer
            key={place.step}
            loaded={loaded}
            step_id={place.step}
            index={index}
            onStep={open}
            onClose={() => move({ step: null })}
          />
        )}
      </div>
    </>
  );
}

interface SelectedViewProps {
  readonly loaded: LoadedRun;
  readonly place: PagePlace;
  readonly onStep: (step_id: string) => void;
}

function SelectedView({ loaded, place, onStep }: SelectedViewProps): VNode {
  if (loaded.view.length === 0)
    return <EmptyState title="The run has no step yet">Its steps appear here as its agent proposes them.</EmptyState>;
  if (place.view === "waterfall") return <RunWaterfall loaded={loaded} selected={place.step} onStep={onStep} />;
  if (place.view === "story") return <RunStory loaded={loaded} selected={place.step} onStep={onStep} />;
  return <RunGraph loaded={loaded} selected={place.step} onStep={onStep} />;
}

const viewKeys = [
  { key: "g", does: "show the graph", name: "graph" },
  { key: "w", does: "show the waterfall", name: "waterfall" },
  { key: "s", does: "show the story", name: "story" },
] as const;

/** The keys of the page: views, the next and the previous step, and the end of a step. */
function useRunKeys({ view }: LoadedRun, place: PagePlace, move: (change: Partial<PagePlace>) => void): void {
  const beside = (by: number) => {
    if (view.length === 0) return;
    const at = place.step === null ? (by > 0 ? -1 : view.length) : (view.find(place.step) ?? -1);
    const next = Math.min(view.length - 1, Math.max(0, at + by));
    move({ step: view.step(next).spec.step_id });
  };
  useKeys([
    ...viewKeys.map(({ key, does, name }) => ({ key, does, run: () => move({ view: name }) })),
    { key: "j", does: "open the next step", run: () => beside(1) },
    { key: "k", does: "open the previous step", run: () => beside(-1) },
    { key: "Escape", does: "close the step", run: () => move({ step: null }) },
  ]);
}
