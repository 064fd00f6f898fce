import { csrfToken, endSession } from "../../api/browser-login.ts";
import { readProblem } from "../../api/problem.ts";
import type { DemoState } from "./demo-state.ts";

export type DemoAction = "support" | "outreach" | "files" | "payment" | "wire" | "arm" | "disarm" | "kill";

/** Reads the state of the demo. Throws an ApiProblem, for example while its server is dead. */
export function readDemo(): Promise<DemoState> {
  return ask("/v1/demo", { method: "GET" });
}

/** Starts a scenario, kills the server, or has it killed at the next effect. */
export async function actInDemo(action: DemoAction): Promise<void> {
  await ask(`/v1/demo/${action}`, { method: "POST", headers: { "x-writ-csrf": await csrfToken() } });
}

async function ask<Answer>(path: string, init: RequestInit): Promise<Answer> {
  const response = await fetch(path, init);
  if (response.ok) return (await response.json()) as Answer;
  if (response.status === 401) endSession();
  throw await readProblem(response);
}
