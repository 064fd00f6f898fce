import type { VNode } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { useLocation } from "preact-iso";
import { hasScope } from "../../api/browser-login.ts";
import { useKeys } from "../../app/key-bindings.ts";
import { useUrlQuery } from "../../app/url-query.ts";
import { EmptyState } from "../../components/empty-state.tsx";
import { PageHeader } from "../../components/page-header.tsx";
import { ProblemNote } from "../../components/problem-note.tsx";
import { VirtualList } from "../../components/virtual-list.tsx";
import { type BulkAction, BulkDialog } from "./bulk-dialog.tsx";
import { FilterChips, FilterPanel } from "./filter-panel.tsx";
import { activeFilters, runListOptions } from "./run-filters.ts";
import { type RunList, useRunList } from "./run-list.ts";
import { RunListHead, RunListRow } from "./run-row.tsx";
import { StatusTabs } from "./status-tabs.tsx";
import "./runs-page.css";

const rowHeight = 52;

/** The live list of runs, with its filters in the address. */
export function RunsPage(): VNode {
  const address = useUrlQuery();
  const { query, change } = address;
  const list = useRunList(runListOptions(query));
  const [isOpen, setOpen] = useState(false);
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const [action, setAction] = useState<BulkAction | null>(null);
  const isFiltered = activeFilters(query).length > 0 || Boolean(query.status);
  return (
    <div class="runs-page">
      <PageHeader
        title="Runs"
        actions={
          <>
            <button type="button" class="button button-quiet" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
              Filters
            </button>
            <a class="button" href="/new">
              New run
            </a>
          </>
        }
      />
      <StatusTabs query={query} onSelect={(status) => change({ status }, "push")} />
      {isOpen && <FilterPanel {...address} />}
      <FilterChips {...address} />
      <ProblemNote problem={list.problem} onRetry={() => list.reload()} />
      {chosen.size > 0 && (
        <ChosenBar
          count={chosen.size}
          onAction={setAction}
          onAll={() => setChosen(idsOf(list))}
          onNone={() => setChosen(new Set())}
        />
      )}
      {list.isReady && list.rows.length === 0 && <NoRuns isFiltered={isFiltered} />}
      <Rows list={list} rows={list.rows} newRuns={list.newRuns} chosen={chosen} onChosen={setChosen} />
      {action !== null && (
        <BulkDialog
          action={action}
          runs={[...chosen]}
          onClose={() => {
            setAction(null);
            setChosen(new Set());
          }}
        />
      )}
    </div>
  );
}

function idsOf({ rows }: RunList): ReadonlySet<string> {
  return new Set(rows.map(({ run_id }) => run_id));
}

interface RowsProps {
  readonly list: RunList;
  /** Those of the list. A component is rendered again only if one of its properties is another value. */
  readonly rows: RunList["rows"];
  readonly newRuns: number;
  readonly chosen: ReadonlySet<string>;
  readonly onChosen: (chosen: ReadonlySet<string>) => void;
}

function Rows({ list, rows, newRuns, chosen, onChosen }: RowsProps): VNode | null {
  const frame = useRef<HTMLDivElement>(null);
  const choose = (id: string, isChosen: boolean) => {
    const next = new Set(chosen);
    if (isChosen) next.add(id);
    else next.delete(id);
    onChosen(next);
  };
  const current = useRowKeys(rows, (id) => choose(id, !chosen.has(id)));
  useTop(frame, list);
  const showNew = () => {
    list.isAtTop = true;
    list.showHeld();
    frame.current?.querySelector(".virtual")?.scrollTo({ top: 0 });
  };
  if (rows.length === 0) return null;
  return (
    <div class="runs-frame" ref={frame} style={{ "--rows": rows.length }}>
      {newRuns > 0 && (
        <button type="button" class="button runs-new" onClick={showNew}>
          {newRuns === 1 ? "1 new run" : `${newRuns} new runs`}
        </button>
      )}
      <RunListHead />
      <VirtualList
        class="runs-list"
        label="Runs"
        count={rows.length}
        rowHeight={rowHeight}
        hasEqualRows
        selected={current}
        onEnd={() => void list.loadMore()}
        keyOf={(index) => rows[index]?.run_id ?? String(index)}
        row={(index) => {
          const row = rows[index];
          if (row === undefined) return null;
          const { run_id } = row;
          return (
            <RunListRow
              row={row}
              isCurrent={index === current}
              isChosen={chosen.has(run_id)}
              onChoose={(isChosen) => choose(run_id, isChosen)}
            />
          );
        }}
      />
    </div>
  );
}

/** Moves through the rows by the keyboard. Returns the place of the current row. */
function useRowKeys(rows: RunList["rows"], onChoose: (run_id: string) => void): number {
  const [current, setCurrent] = useState(-1);
  const { route } = useLocation();
  const move = (by: number) => setCurrent(Math.max(0, Math.min(rows.length - 1, current + by)));
  const id = rows[current]?.run_id;
  useKeys([
    { key: "j", does: "next run", run: () => move(1) },
    { key: "k", does: "previous run", run: () => move(-1) },
    { key: "Enter", does: "open the run", run: () => id && route(`/runs/${encodeURIComponent(id)}`) },
    { key: "x", does: "choose the run", run: () => id && onChoose(id) },
  ]);
  return current;
}

/** Tells the list whether its first row is in view: then new runs are shown at once. */
function useTop(frame: { readonly current: HTMLDivElement | null }, list: RunList): void {
  const hasRows = list.rows.length > 0;
  useEffect(() => {
    const box = frame.current?.querySelector(".virtual");
    const note = () => {
      list.isAtTop = (box?.scrollTop ?? 0) < rowHeight;
      if (list.isAtTop && list.held !== null) list.showHeld();
    };
    box?.addEventListener("scroll", note, { passive: true });
    return () => box?.removeEventListener("scroll", note);
  }, [list, hasRows]);
}

function ChosenBar({
  count,
  onAction,
  onAll,
  onNone,
}: {
  readonly count: number;
  readonly onAction: (action: BulkAction) => void;
  readonly onAll: () => void;
  readonly onNone: () => void;
}): VNode {
  const canAct = hasScope("submit");
  return (
    <section class="chosen-bar" aria-label="Chosen runs">
      <strong>{count} chosen</strong>
      <button type="button" class="button button-quiet" disabled={!canAct} onClick={() => onAction("resume")}>
        Resume…
      </button>
      <button type="button" class="button button-danger" disabled={!canAct} onClick={() => onAction("cancel")}>
        Cancel…
      </button>
      <button type="button" class="side-action" onClick={onAll}>
        Choose all that are loaded
      </button>
      <button type="button" class="side-action" onClick={onNone}>
        Choose none
      </button>
    </section>
  );
}

function NoRuns({ isFiltered }: { readonly isFiltered: boolean }): VNode {
  if (isFiltered)
    return (
      <EmptyState title="No run fits these filters">
        <p>
          <a href="/runs">Show all runs</a>
        </p>
      </EmptyState>
    );
  return (
    <EmptyState title="There are no runs yet">
      <p>
        A run is a plan, or the session of an agent, with everything that it did. <a href="/new">Start one here</a>, or
        with <code>writ run plan.json</code>. It appears here by itself.
      </p>
    </EmptyState>
  );
}
