import type { VNode } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { RelativeTime } from "../../components/relative-time.tsx";
import { SafeText } from "../../components/safe-text.tsx";
import { StatusPill } from "../../components/status-pill.tsx";
import type { InboxEntry } from "./inbox-entry.ts";

const kinds = {
  gate: { title: "held", tone: "hold" },
  data: { title: "needs data", tone: "active" },
  tool_change: { title: "changed tool", tone: "active" },
  doubt: { title: "in doubt", tone: "doubt" },
} as const;

interface InboxListProps {
  readonly entries: readonly InboxEntry[];
  readonly selected: string | null;
  readonly onSelect: (id: string) => void;
  readonly chosen: ReadonlySet<string>;
  readonly onToggle: (id: string) => void;
}

/** The entries of the inbox. The boxes choose some of them for a decision together. */
export function InboxList({ entries, selected, onSelect, chosen, onToggle }: InboxListProps): VNode {
  const list = useRef<HTMLUListElement>(null);
  useEffect(() => {
    list.current?.querySelector('[aria-current="true"]')?.scrollIntoView({ block: "nearest" });
  }, [selected]);
  return (
    <ul class="inbox-list" ref={list} aria-label="Waiting for you">
      {entries.map((entry) => (
        <li key={entry.id} class={entry.id === selected ? "inbox-entry inbox-selected" : "inbox-entry"}>
          <input
            type="checkbox"
            aria-label={`Choose ${entry.tool}`}
            checked={chosen.has(entry.id)}
            onChange={() => onToggle(entry.id)}
          />
          <a
            href={`/?item=${encodeURIComponent(entry.id)}`}
            aria-current={entry.id === selected ? "true" : undefined}
            onClick={(event) => {
              if (event.metaKey || event.ctrlKey || event.shiftKey) return;
              event.preventDefault();
              event.stopPropagation();
              onSelect(entry.id);
            }}
          >
            <span class="inbox-line">
              <code>
                <SafeText text={entry.tool} />
              </code>
              <StatusPill status={kinds[entry.kind].title} tone={kinds[entry.kind].tone} />
            </span>
            <span class="inbox-summary">
              <SafeText text={entry.summary || entry.reason} />
            </span>
            <span class="inbox-line soft small">
              <SafeText text={entry.requester} />
              <EntryTime entry={entry} />
            </span>
          </a>
        </li>
      ))}
    </ul>
  );
}

function EntryTime({ entry }: { readonly entry: InboxEntry }): VNode {
  if ("doubt" in entry.of) return <RelativeTime at={entry.of.doubt.since} />;
  return (
    <span>
      expires <RelativeTime at={entry.of.gate.expires_at} />
    </span>
  );
}
