import type { Principal } from "../../core/approval/principal.ts";
import { callAnswer } from "../../core/run/call-answer.ts";
import { answerStep, modelRequestOf } from "../../core/run/model-steps.ts";
import type { Run, Step } from "../../core/run/run.ts";
import type { Fault } from "../../core/values/fault.ts";
import type { StepId } from "../../core/values/ids.ts";
import type { SessionCall, SessionModelCall, SessionTurn } from "../api/open-run-api.ts";
import { judgeRecordedCall, loadRunUnlessErased } from "../messages/find-run-of-request.ts";
import type { WorkerPorts } from "../worker/worker-ports.ts";
import { readRecordedModelCalls } from "./recorded-model-calls.ts";

/** Says whether a reader may have the record of a step of a run. Null: it may. */
export type JudgeRecord = (run: Run, step: Step) => Promise<Fault | null>;

/** Reads the turns of a run, as far as the principal may have them now. */
export async function readTurns(ports: WorkerPorts, principal: Principal, run: Run): Promise<readonly SessionTurn[]> {
  return readTurnsOf(ports, run, (of, step) => judgeRecordedCall(ports, of, step, principal));
}

/** Reads the turns of the runs of a session before a run, oldest first. An erased run ends the list. */
export async function readEarlierTurns(
  ports: WorkerPorts,
  principal: Principal,
  { opened }: Run,
  judge: JudgeRecord,
): Promise<readonly SessionTurn[]> {
  const turns: (readonly SessionTurn[])[] = [];
  for (let previous = opened?.previous; previous !== undefined; ) {
    const run = await loadRunUnlessErased(ports, principal, previous);
    if (run === null) break;
    turns.unshift(await readTurnsOf(ports, run, judge));
    previous = run.opened?.previous;
  }
  return turns.flat();
}

export async function readTurnsOf(ports: WorkerPorts, run: Run, judge: JudgeRecord): Promise<readonly SessionTurn[]> {
  const models = run.conversation === null ? new Map() : await readRecordedModelCalls(ports.store, run);
  return sessionTurns(run, models, (step) => judge(run, step));
}

interface MutableTurn {
  readonly turn: string | null;
  readonly model: SessionModelCall | null;
  readonly calls: SessionCall[];
}

/**
 * Lists the model calls of a run and the calls of their answers, in the order in which they were proposed. `judge` says
 * who may have a record.
 */
async function sessionTurns(
  run: Run,
  models: ReadonlyMap<StepId, SessionModelCall>,
  judge: (step: Step) => Promise<Fault | null>,
): Promise<readonly SessionTurn[]> {
  const turns: MutableTurn[] = [];
  const byAnswer = new Map<StepId, MutableTurn>();
  for (const step of run.steps) {
    if (step.cause?.by !== "agent") continue;
    const refused = await judge(step);
    if (modelRequestOf(step) !== null) {
      const model = refused === null ? (models.get(step.spec.step_id) ?? null) : null;
      const turn: MutableTurn = { turn: step.spec.step_id, model, calls: [] };
      byAnswer.set(step.spec.step_id, turn);
      turns.push(turn);
    } else if (step.cause.call !== undefined) {
      const answer = answerStep(run, step.cause.call)?.spec.step_id;
      const named = step.cause.call.turn ?? null;
      const known = answer === undefined ? turns.at(-1) : byAnswer.get(answer);
      const isOfKnown = known !== undefined && (answer !== undefined || (known.model === null && known.turn === named));
      const turn = isOfKnown ? known : { turn: named, model: null, calls: [] };
      if (!isOfKnown) turns.push(turn);
      turn.calls.push(sessionCall(run, step, step.cause.call.id, refused));
    }
  }
  return turns;
}

function sessionCall(run: Run, step: Step, id: string, refused: Fault | null): SessionCall {
  const { step_id, name: tool, payload } = step.spec;
  const answer = refused === null ? callAnswer(run, step) : ({ status: "refused", fault: refused } as const);
  const input = refused === null ? payload : {};
  return { id, step_id, tool, input, answer, delivered: run.delivered.has(step_id) };
}
