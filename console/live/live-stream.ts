import { effect, signal } from "@preact/signals";
import type { RecordedEvent } from "../../src/engine/api/engine-api.ts";
import type { RunChange } from "../../src/engine/api/list-api.ts";
import { checkSession, session } from "../api/browser-login.ts";

/** `live`: changes appear by themselves. `reconnecting`: the server does not answer, and the page tries again. */
export const connection = signal<"connecting" | "live" | "reconnecting">("connecting");

/** The reaction of a page to the events of a run. */
export interface RunWatcher {
  /** The position of the latest event that the page has. */
  readonly after: number;
  onEvent(recorded: RecordedEvent): void;
  /** The journal no longer has the position: the page reads the run again. */
  onReset?(): void;
}

/** The watchers of a run, each with the position of the latest event that it has. */
type WatchedRun = Map<RunWatcher, number>;

const retryMs = [300, 700, 1500, 3000, 5000];
const runs = new Map<string, WatchedRun>();
const changeListeners = new Set<(change: RunChange | null) => void>();

let source: EventSource | null = null;
let failures = 0;
let timer: ReturnType<typeof setTimeout> | null = null;

/** Receives the events of a run after a position. Returns a function that ends it. */
export function watchRun(run_id: string, watcher: RunWatcher): () => void {
  const watched = runs.get(run_id) ?? new Map<RunWatcher, number>();
  watched.set(watcher, watcher.after);
  runs.set(run_id, watched);
  openSoon(0);
  return () => {
    watched.delete(watcher);
    if (watched.size > 0) return;
    runs.delete(run_id);
    openSoon(0);
  };
}

/**
 * Calls the function when the row of a run has changed, and with null after a connection was lost, because hints may be
 * missing then. Returns a function that ends it.
 */
export function onListChange(listener: (change: RunChange | null) => void): () => void {
  changeListeners.add(listener);
  return () => void changeListeners.delete(listener);
}

/** Keeps one connection open while the browser is logged in. Returns a function that ends it. */
export function startLiveStream(): () => void {
  return effect(() => {
    if (session.value.is === "in") openSoon(0);
    else close();
  });
}

/** Opens the connection for the runs of now, once for all changes of this turn. */
function openSoon(ms: number): void {
  if (session.peek().is !== "in") return;
  if (timer !== null) clearTimeout(timer);
  timer = setTimeout(open, ms);
}

function close(): void {
  if (timer !== null) clearTimeout(timer);
  timer = null;
  source?.close();
  source = null;
}

function open(): void {
  close();
  const query = new URLSearchParams({ lists: "runs" });
  if (runs.size > 0)
    query.set("runs", [...runs].map(([id, watched]) => `${id}:${Math.min(...watched.values())}`).join(","));
  const opened = new EventSource(`/v1/stream?${query}`);
  source = opened;
  opened.addEventListener("open", () => {
    const wasLost = failures > 0;
    failures = 0;
    connection.value = "live";
    if (wasLost) notify(null);
  });
  opened.addEventListener("change", ({ data }) => notify(JSON.parse(data) as RunChange));
  opened.addEventListener("event", ({ data }) =>
    deliver(JSON.parse(data) as RecordedEvent & { readonly run_id: string }),
  );
  opened.addEventListener("reset", ({ data }) => reset((JSON.parse(data) as { readonly run_id: string }).run_id));
  opened.addEventListener("error", () => void reconnect(opened));
}

/** Tries again with growing pauses. The server may have restarted, or the session may have ended. */
async function reconnect(failed: EventSource): Promise<void> {
  if (source !== failed) return;
  close();
  connection.value = "reconnecting";
  do {
    const pause = retryMs[Math.min(failures, retryMs.length - 1)] ?? 0;
    failures += 1;
    await new Promise((resolve) => setTimeout(resolve, pause));
    // A page has opened the connection meanwhile, or the browser is no longer logged in.
    if (source !== null || timer !== null || session.peek().is !== "in") return;
  } while (!(await checkSession()));
  openSoon(0);
}

function notify(change: RunChange | null): void {
  for (const listener of changeListeners) listener(change);
}

function deliver({ run_id, ...recorded }: RecordedEvent & { readonly run_id: string }): void {
  const watched = runs.get(run_id);
  for (const [watcher, position] of watched ?? []) {
    if (recorded.position <= position) continue;
    watched?.set(watcher, recorded.position);
    watcher.onEvent(recorded);
  }
}

function reset(run_id: string): void {
  const watched = runs.get(run_id);
  for (const watcher of watched?.keys() ?? []) {
    watched?.set(watcher, 0);
    watcher.onReset?.();
  }
}
