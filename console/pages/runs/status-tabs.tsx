import type { VNode } from "preact";
import { useEffect } from "preact/hooks";
import { callRoute } from "../../api/call-route.ts";
import { countText } from "../../components/amount-text.ts";
import { onListChange } from "../../live/live-stream.ts";
import { useServerValue } from "../../live/use-server-value.ts";
import { type RunFilters, runListOptions } from "./run-filters.ts";

const tabs = [
  { id: "", title: "All" },
  { id: "waiting", title: "Waiting" },
  { id: "running", title: "Running" },
  { id: "open", title: "Open" },
  { id: "poison", title: "Parked" },
  { id: "failed", title: "Failed" },
  { id: "rejected", title: "Rejected" },
  { id: "partial", title: "Partial" },
  { id: "completed", title: "Completed" },
  { id: "cancelled", title: "Cancelled" },
] as const;

/** Counts are read again at most this often: each is a query. */
const recountMs = 3000;

/** The statuses with the numbers of runs that the other filters leave. */
export function StatusTabs({
  query,
  onSelect,
}: {
  readonly query: RunFilters;
  readonly onSelect: (status: string) => void;
}): VNode {
  const counts = useCounts(query);
  const selected = query.status ?? "";
  return (
    <section class="status-tabs" aria-label="Status">
      {tabs.map(({ id, title }) => (
        <button
          key={id}
          type="button"
          aria-pressed={id === selected}
          class={counts?.[id] === 0 && id !== selected ? "status-none" : ""}
          onClick={() => onSelect(id)}
        >
          {title}
          {counts?.[id] !== undefined && <span class="count">{counted(counts[id])}</span>}
        </button>
      ))}
    </section>
  );
}

/** The server counts up to 10,000 rows. */
function counted(count: number): string {
  return count >= 10_000 ? "10k+" : countText(count);
}

function useCounts(query: RunFilters): Readonly<Record<string, number>> | null {
  const { status: _status, ...others } = query;
  const options = runListOptions(others);
  const isCountable = options.decidable === undefined;
  const { value, reload } = useServerValue(isCountable ? JSON.stringify(options) : null, async () => {
    const each = await Promise.all(
      tabs.map(async ({ id }) => {
        const { count } = await callRoute("runs", {
          ...options,
          ...(id !== "" && { status: id }),
          count: true,
          limit: 1,
        });
        return [id, count ?? 0] as const;
      }),
    );
    return Object.fromEntries(each);
  });
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | null = null;
    const stop = onListChange(() => {
      timer ??= setTimeout(() => {
        timer = null;
        void reload();
      }, recountMs);
    });
    return () => {
      stop();
      if (timer !== null) clearTimeout(timer);
    };
  }, [reload]);
  return value;
}
