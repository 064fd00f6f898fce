import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import type { RunChange } from "../../src/engine/api/list-api.ts";
import { type ApiProblem, toProblem } from "../api/problem.ts";
import { followChanges } from "./follow-changes.ts";

/** A value of the server. While it is read again, the last one stays. */
export interface ServerValue<Value> {
  readonly value: Value | null;
  readonly problem: ApiProblem | null;
  readonly isLoading: boolean;
  /** Reads it again. Resolves when the answer is there. */
  reload(): Promise<void>;
}

export interface ServerValueOptions {
  /** Reads the value again when a run has changed for which this returns true. Default: never. */
  readonly follows?: (change: RunChange) => boolean;
}

/**
 * Reads a value of the server, and again when the key changes, when a run that it follows has changed, and when a lost
 * connection is back. Null as the key reads nothing.
 */
export function useServerValue<Value>(
  key: string | null,
  read: () => Promise<Value>,
  { follows }: ServerValueOptions = {},
): ServerValue<Value> {
  const [state, setState] = useState<{ key: string | null; value: Value | null; problem: ApiProblem | null }>({
    key: null,
    value: null,
    problem: null,
  });
  const latest = useRef({ read, follows, request: 0 });
  latest.current.read = read;
  latest.current.follows = follows;

  const reload = useCallback(async () => {
    if (key === null) return;
    latest.current.request += 1;
    const { request } = latest.current;
    try {
      const value = await latest.current.read();
      if (request === latest.current.request) setState({ key, value, problem: null });
    } catch (error) {
      if (request !== latest.current.request) return;
      setState((before) => ({ key, value: before.key === key ? before.value : null, problem: toProblem(error) }));
    }
  }, [key]);

  useEffect(() => {
    void reload();
    return () => {
      // An answer that is still under way belongs to the former key.
      latest.current.request += 1;
    };
  }, [reload]);
  useEffect(
    () => followChanges((change) => change === null || (latest.current.follows?.(change) ?? false), reload),
    [reload],
  );

  const isOfKey = state.key === key;
  return {
    value: isOfKey ? state.value : null,
    problem: isOfKey ? state.problem : null,
    isLoading: !isOfKey && key !== null,
    reload,
  };
}
