import type { VNode } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { useLocation } from "preact-iso";
import { isDemoServer } from "../../api/browser-login.ts";
import { useKeys } from "../../app/key-bindings.ts";
import { EmptyState } from "../../components/empty-state.tsx";
import { PageHeader } from "../../components/page-header.tsx";
import { ProblemNote } from "../../components/problem-note.tsx";
import { DoubtDetail } from "../../decisions/doubt-detail.tsx";
import { GateDetail } from "../../decisions/gate-detail.tsx";
import { inbox, inboxCount, inboxProblem, reloadInbox } from "../../live/inbox.ts";
import "../../decisions/decisions.css";
import { BatchBar } from "./batch-bar.tsx";
import "./inbox.css";
import { doubtEntry, filterEntries, gateEntry, type InboxEntry } from "./inbox-entry.ts";
import { InboxList } from "./inbox-list.tsx";

/** Everything that waits for the person: held calls, changed tools and acts in doubt. */
export function InboxPage(): VNode {
  const { value } = inbox;
  const { query, route } = useLocation();
  const [text, setText] = useState("");
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const filter = useRef<HTMLInputElement>(null);
  const all = useMemo(
    () => [...(value?.doubts ?? []).map(doubtEntry), ...(value?.gates ?? []).map(gateEntry)],
    [value],
  );
  const entries = useMemo(() => filterEntries(all, text), [all, text]);
  const given = query.item ?? null;
  const [first, setFirst] = useState<string | null>(null);
  // An entry that was shown stays until the person moves on, also after it was decided.
  const selected = given ?? first ?? entries[0]?.id ?? null;
  useEffect(() => setFirst((before) => before ?? selected), [selected]);
  const select = (id: string) => route(`/?item=${encodeURIComponent(id)}`, true);
  const toggle = (id: string) => setChosen((before) => toggled(before, id));
  useInboxKeys({ entries, selected, select, toggle, filter: () => filter.current?.focus() });
  const chosenEntries = all.filter(({ id }) => chosen.has(id));
  return (
    <>
      <PageHeader
        title="Inbox"
        beside={all.length > 0 && <span class="count">{inboxCount()}</span>}
        actions={
          <input
            ref={filter}
            type="search"
            class="inbox-filter"
            aria-label="Filter by tool, requester or text"
            placeholder="Filter"
            value={text}
            onInput={({ currentTarget }) => setText(currentTarget.value)}
          />
        }
      />
      <ProblemNote problem={inboxProblem.value} onRetry={reloadInbox} />
      {value !== null && all.length === 0 && selected === null ? (
        <EmptyInbox />
      ) : (
        <div class={given === null ? "inbox" : "inbox inbox-opened"}>
          <div class="inbox-side">
            <BatchBar entries={chosenEntries} onClear={() => setChosen(new Set())} onDone={reloadInbox} />
            <InboxList entries={entries} selected={selected} onSelect={select} chosen={chosen} onToggle={toggle} />
            {value !== null && entries.length === 0 && <p class="soft">Nothing waits that has this text.</p>}
          </div>
          <section class="panel inbox-detail" aria-label="Selected entry">
            <a class="inbox-back" href="/">
              Back to the list
            </a>
            <SelectedEntry id={selected} entry={all.find(({ id }) => id === selected)} reload={reloadInbox} />
          </section>
        </div>
      )}
    </>
  );
}

/** An entry that is no longer in the list stays open: a gate shows its decision. */
function SelectedEntry({
  id,
  entry,
  reload,
}: {
  readonly id: string | null;
  readonly entry: InboxEntry | undefined;
  readonly reload: () => Promise<void>;
}): VNode {
  if (id === null) return <p class="soft">Select an entry.</p>;
  if (id.startsWith("gate_")) return <GateDetail key={id} level={2} gate_id={id} onDecided={() => void reload()} />;
  if (entry !== undefined && "doubt" in entry.of)
    return <DoubtDetail key={id} doubt={entry.of.doubt} onSettled={reload} />;
  const [run_id = ""] = id.split("/");
  return (
    <EmptyState title="This act is no longer in doubt">
      It was settled, by a person or by its verifier. <a href={`/runs/${encodeURIComponent(run_id)}`}>Open its run</a>
      {isDemoServer.value && (
        <>
          {" "}
          or go <a href="/demo">back to the demo</a>
        </>
      )}
      .
    </EmptyState>
  );
}

function useInboxKeys({
  entries,
  selected,
  select,
  toggle,
  filter,
}: {
  readonly entries: readonly InboxEntry[];
  readonly selected: string | null;
  readonly select: (id: string) => void;
  readonly toggle: (id: string) => void;
  readonly filter: () => void;
}): void {
  const move = (by: number) => {
    const at = entries.findIndex(({ id }) => id === selected);
    const next = entries[Math.min(entries.length - 1, Math.max(0, at + by))];
    if (next !== undefined) select(next.id);
  };
  useKeys([
    { key: "j", does: "next entry", run: () => move(1) },
    { key: "k", does: "previous entry", run: () => move(-1) },
    {
      key: "Enter",
      does: "open the entry",
      run: () => {
        if (selected === null) return;
        select(selected);
        requestAnimationFrame(() => document.querySelector<HTMLElement>(".inbox-detail h2")?.focus());
      },
    },
    { key: "x", does: "choose the entry for a decision together", run: () => selected !== null && toggle(selected) },
    { key: "/", does: "filter", run: filter },
  ]);
}

function toggled(before: ReadonlySet<string>, id: string): ReadonlySet<string> {
  const after = new Set(before);
  if (!after.delete(id)) after.add(id);
  return after;
}

function EmptyInbox(): VNode {
  return (
    <EmptyState title="Nothing waits for you">
      <p>
        A call that changes the outside world is held here until a person approves exactly that call. An act whose
        outcome is unknown waits here, too, and so does a tool of an MCP server that has changed.
      </p>
      <p>
        Submit a plan with <code>npx writ run plan.json</code>, or see the <a href="/runs">latest runs</a>.
      </p>
    </EmptyState>
  );
}
