import { canonicalJson } from "../core/json/canonical-json.ts";
import type { CallAnswer } from "../core/run/call-answer.ts";
import type { Effect } from "../core/values/effect.ts";
import type { SessionCall, SessionTurn } from "../engine/api/open-run-api.ts";
import { outputAsPlainData } from "../engine/ports/output-as-plain-data.ts";
import { toolNameFor } from "./framework-tool.ts";
import type { FrameworkCall, Governed } from "./governed.ts";

/** A call as its host reports it. */
export interface ReportedCall {
  readonly id: string;
  readonly tool: string;
  readonly input: unknown;
  /** The sub-agent that makes it; undefined for the main agent. */
  readonly agent: string | undefined;
}

/** The agent that makes the calls of a session, for those who read its record. */
interface CallingAgent {
  /** The name of the host on record, to which answers are delivered. */
  readonly name: string;
  /** Returns the effect of a tool. */
  effectOf(tool: string): Effect;
}

/**
 * Names the calls of a host whose model gives a repeated call another id. An interrupted model repeats its
 * call. Until the model has received the answer, an equal call counts as the earlier call. So an approved call is made,
 * and an act is not made a second time.
 */
export class CallsMadeAgain {
  readonly #governed: Governed;
  readonly #agent: CallingAgent;
  readonly #unseen = new Map<string, Pick<FrameworkCall, "id" | "turn">>();
  readonly #found = new Map<string, FrameworkCall>();
  /** The ids that the host has reported, until the model gets the answer. */
  readonly #reported = new Set<string>();
  /** The answered calls of each agent. Its next answer proves that it has seen them. */
  readonly #answered = new Map<string | undefined, FrameworkCall[]>();

  constructor(governed: Governed, agent: CallingAgent, turns: readonly SessionTurn[]) {
    this.#governed = governed;
    this.#agent = agent;
    for (const { turn, calls } of turns)
      for (const call of calls.filter((each) => this.#blocks(each)))
        this.#unseen.set(keyOf(call.tool, call.input), { id: call.id, ...(turn !== null && { turn }) });
  }

  /** True if an equal call counts as this call. A read may be made again. */
  #blocks({ tool, answer, delivered }: SessionCall): boolean {
    if (answer !== null && !isOver(answer)) return true;
    return !delivered && this.isAct(tool) && answer?.status !== "refused" && answer?.status !== "cancelled";
  }

  isAct(tool: string): boolean {
    return this.#agent.effectOf(tool) === "acts";
  }

  /** Returns the call of the session that the report is about. */
  find({ id, tool, input, agent }: ReportedCall): FrameworkCall {
    this.#reported.add(id);
    const name = this.#unseen.get(keyOf(toolNameFor(tool), input)) ?? {
      id,
      ...(agent !== undefined && { turn: agent }),
    };
    const call = this.#found.get(id) ?? { ...name, tool, input };
    this.#found.set(id, call);
    return call;
  }

  /** Forgets the id of a call whose answer the model gets. Returns whether the host had reported the call. */
  forget(id: string): boolean {
    return this.#reported.delete(id);
  }

  /** Records that the model gets the answer. An equal call counts as this call until this call has ended. */
  answered(id: string, agent: string | undefined, answer: Pick<CallAnswer, "status">): void {
    const call = this.#found.get(id);
    if (call === undefined) return;
    this.#found.delete(id);
    if (isOver(answer)) this.#answered.set(agent, [...(this.#answered.get(agent) ?? []), call]);
    else this.#unseen.set(keyOf(toolNameFor(call.tool), call.input), call);
  }

  /** The agent has answered again, so it has seen the answers before. */
  async seen(agent: string | undefined): Promise<void> {
    const calls = this.#answered.get(agent) ?? [];
    this.#answered.delete(agent);
    for (const { id, turn, tool, input } of calls) {
      const key = keyOf(toolNameFor(tool), input);
      if (this.#unseen.get(key)?.id === id) this.#unseen.delete(key);
      await this.#governed.run.markDelivered(id, { to: this.#agent.name, ...(turn !== undefined && { turn }) });
    }
  }
}

/** False: the call goes on, so its answer is not the last one. */
function isOver({ status }: Pick<CallAnswer, "status">): boolean {
  return status !== "held" && status !== "waiting" && status !== "in_doubt";
}

const keyOf = (tool: string, input: unknown) => `${tool} ${canonicalJson(outputAsPlainData(input ?? {}).value)}`;
