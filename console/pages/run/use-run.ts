import { useEffect, useRef, useState } from "preact/hooks";
import type { RunProgress } from "../../../src/engine/api/engine-api.ts";
import { callRoute } from "../../api/call-route.ts";
import { type ApiProblem, toProblem } from "../../api/problem.ts";
import { watchRun } from "../../live/live-stream.ts";
import { RunView } from "./run-view.ts";

/** A run as the page has it. */
export interface LoadedRun {
  readonly view: RunView;
  /** Grows with every change of the view. */
  readonly version: number;
  /** The answer of `run.now` when the page was opened. Null: it is not here yet, or not needed. */
  readonly now: RunProgress | null;
  /** False while events of the past are still being read: then `now` has the states. */
  readonly isCaughtUp: boolean;
}

export type RunLoading =
  | { readonly is: "loading" }
  | { readonly is: "failed"; readonly problem: ApiProblem }
  /** Retention has erased the journal. */
  | { readonly is: "erased" }
  | ({ readonly is: "loaded" } & LoadedRun);

/** Reads a run, and follows it. Each batch of events is drawn once. */
export function useRun(run_id: string): readonly [RunLoading, () => void] {
  const [loading, setLoading] = useState<RunLoading>({ is: "loading" });
  const [turn, setTurn] = useState(0);
  const wasLoaded = useRef(false);
  useEffect(() => {
    const following = new AbortController();
    const { signal } = following;
    setLoading({ is: "loading" });
    wasLoaded.current = turn > 0 && wasLoaded.current;
    followRun(run_id, signal, (next) => {
      wasLoaded.current ||= next.is === "loaded";
      if (!signal.aborted) setLoading(next);
    }).catch((error: unknown) => {
      if (signal.aborted) return;
      const problem = toProblem(error);
      const isErased = problem.code === "RUN_NOT_FOUND" && (wasLoaded.current || problem.message.includes("erased"));
      setLoading(isErased ? { is: "erased" } : { is: "failed", problem });
    });
    const stop = onReset(run_id, () => setTurn((before) => before + 1));
    signal.addEventListener("abort", stop, { once: true });
    return () => following.abort();
  }, [run_id, turn]);
  return [loading, () => setTurn((before) => before + 1)];
}

const resets = new Map<string, Set<() => void>>();

function onReset(run_id: string, react: () => void): () => void {
  const known = resets.get(run_id) ?? new Set();
  resets.set(run_id, known.add(react));
  return () => void known.delete(react);
}

async function followRun(run_id: string, signal: AbortSignal, show: (loading: RunLoading) => void): Promise<void> {
  const view = new RunView(run_id);
  const first = await callRoute("run.events", { run_id, limit: FIRST_EVENTS }, signal);
  for (const entry of first.events) view.add(entry);
  let version = 0;
  let now: RunProgress | null = null;
  const draw = (isCaughtUp: boolean) => {
    version += 1;
    show({ is: "loaded", view, version, now, isCaughtUp });
  };
  draw(first.next === null);
  if (first.next !== null) now = await callRoute("run.now", { run_id }, signal);
  if (first.next !== null) draw(false);
  for (let { next } = first; next !== null; ) {
    const page = await callRoute("run.events", { run_id, after: next }, signal);
    for (const entry of page.events) view.add(entry);
    next = page.next;
    if (signal.aborted) return;
  }
  draw(true);
  signal.addEventListener("abort", watch(run_id, view, draw), { once: true });
}

/** A long run is drawn as soon as its plan is here; its states follow, and then its past. */
const FIRST_EVENTS = 100;

/** Draws once for all events of a frame. Returns a function that ends it. */
function watch(run_id: string, view: RunView, draw: (isCaughtUp: boolean) => void): () => void {
  let frame: number | null = null;
  const stop = watchRun(run_id, {
    after: view.position,
    onEvent: (recorded) => {
      view.add(recorded);
      frame ??= requestAnimationFrame(() => {
        frame = null;
        draw(true);
      });
    },
    onReset: () => {
      for (const react of resets.get(run_id) ?? []) react();
    },
  });
  return () => {
    stop();
    if (frame !== null) cancelAnimationFrame(frame);
  };
}
