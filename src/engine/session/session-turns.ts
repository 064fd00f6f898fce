import { callAnswer } from "../../core/run/call-answer.ts";
import type { Run, Step } from "../../core/run/run.ts";
import type { Fault } from "../../core/values/fault.ts";
import type { SessionCall, SessionTurn } from "../api/session-api.ts";

/** Lists the calls of a run by turn, in the order in which they were proposed. `judge` says who may have an answer. */
export async function sessionTurns(
  run: Run,
  judge: (step: Step) => Promise<Fault | null>,
): Promise<readonly SessionTurn[]> {
  const turns: { turn: string | null; calls: SessionCall[] }[] = [];
  for (const step of run.steps) {
    const name = step.cause?.by === "agent" ? step.cause.call : undefined;
    if (name === undefined) continue;
    const turn = name.turn ?? null;
    const last = turns.at(-1);
    const refused = await judge(step);
    const answer = refused === null ? callAnswer(run, step) : ({ status: "refused", fault: refused } as const);
    const { step_id, name: tool, payload } = step.spec;
    const call = {
      id: name.id,
      step_id,
      tool,
      input: refused === null ? payload : {},
      answer,
      delivered: run.delivered.has(step_id),
    };
    if (last !== undefined && last.turn === turn) last.calls.push(call);
    else turns.push({ turn, calls: [call] });
  }
  return turns;
}
