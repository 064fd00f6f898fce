import { useState } from "preact/hooks";
import { type ApiProblem, toProblem } from "../api/problem.ts";

/** A request that a person sends: whether it is under way, and why it failed. */
export interface Action {
  readonly isBusy: boolean;
  readonly problem: ApiProblem | null;
  /** Sends the request. Does nothing while another is under way. True: it was carried out. */
  send(request: () => Promise<unknown>): Promise<boolean>;
  clear(): void;
}

/** Sends requests one at a time, and keeps the problem of the last one. */
export function useAction(): Action {
  const [isBusy, setBusy] = useState(false);
  const [problem, setProblem] = useState<ApiProblem | null>(null);
  return {
    isBusy,
    problem,
    clear: () => setProblem(null),
    send: async (request) => {
      if (isBusy) return false;
      setBusy(true);
      setProblem(null);
      try {
        await request();
        return true;
      } catch (error) {
        setProblem(toProblem(error));
        return false;
      } finally {
        setBusy(false);
      }
    },
  };
}
