import type { CallAnswer } from "../../src/core/run/call-answer.ts";
import { FaultError } from "../../src/core/values/fault.ts";
import type { RunId } from "../../src/core/values/ids.ts";
import type { ModelAnswer } from "../../src/engine/api/model-api.ts";
import type { OpenRun } from "../../src/engine/api/open-run-api.ts";
import type { HandedAnswer } from "./conversation-observer.ts";
import { later, type SessionContext, simAgent } from "./session-context.ts";
import type { SessionHosts } from "./session-host.ts";
import type { SessionProcess } from "./session-process.ts";
import {
  assistantMessage,
  ModelDownError,
  type ModelGoal,
  readSimAnswer,
  resultMessage,
  type SimMessage,
  type SimModel,
  userMessage,
  type WantedCall,
} from "./sim-model.ts";
import { runSubAgent } from "./sub-agent.ts";

/** Fault codes that a loop over a model may receive at any time: it starts again. */
const expectedCodes: readonly string[] = [
  "SESSION_BUSY",
  "RUN_CLOSED",
  "ENGINE_CLOSED",
  "NOT_POSSIBLE",
  "CANCELLED",
  "ANSWER_INCOMPLETE",
  "TOOL_AWAY",
];

/** A start of the loop: its process, its handle of the session, and the answers that it was given. */
interface LoopStart {
  readonly process: SessionProcess;
  readonly run: OpenRun;
  readonly handed: HandedAnswer[];
  /** The text of the system prompt of this start. A clock in it differs from start to start. */
  readonly prompt: string;
}

/** The message of a user in a turn, and the messages up to the final answer of that turn. */
interface FinishedTurn {
  readonly run: RunId;
  readonly messages: readonly SimMessage[];
}

/** The lane of the conversation. Ids of calls repeat between lanes. */
const lane = "main";

const MAX_EDITS = 2;

/**
 * The loop of an agent over a model: it asks, makes the calls of the answer, and asks again, until all users are
 * answered. Its memory between two starts is the conversation up to the last finished turn.
 */
export class ModelLoop {
  readonly session: string;
  readonly #sim: SessionContext;
  readonly #hosts: SessionHosts;
  readonly #model: SimModel;
  readonly #pick: () => SessionProcess | null;
  readonly #turns: readonly (readonly ModelGoal[])[];
  readonly #versions: number[];
  #finished: FinishedTurn[] = [];
  #edits = 0;
  #isDone = false;
  #start = 0;

  constructor(
    sim: SessionContext,
    session: string,
    hosts: SessionHosts,
    model: SimModel,
    pick: () => SessionProcess | null,
  ) {
    this.#sim = sim;
    this.session = session;
    this.#hosts = hosts;
    this.#model = model;
    this.#pick = pick;
    const { rng, config } = sim;
    this.#turns = Array.from({ length: rng.between(1, 3) }, (_, turn) =>
      Array.from({ length: rng.between(0, 3) }, (__, index) => ({
        goal: `${session}.${turn}.${index}`,
        tool: rng.pick(["send", "send", "look", "act", "read", "task", "task"] as const),
      })),
    );
    this.#versions = this.#turns.map(() => 1);
    later(sim, config.calls + rng.below(1000), "loop starts", () => void this.#run());
  }

  get isDone(): boolean {
    return this.#isDone;
  }

  /** Starts the loop. A loop that hangs because its process died is started again elsewhere. */
  async #run(): Promise<void> {
    if (this.#isDone) return;
    const sim = this.#sim;
    this.#start += 1;
    const start = this.#start;
    sim.counts.restarts += 1;
    later(sim, sim.rng.between(15_000, 60_000), "loop starts", () => {
      if (start === this.#start) void this.#run();
    });
    const process = this.#pick();
    if (process?.engine == null) return;
    try {
      const { releaseMs, deadlineMs } = sim.config;
      const open = { session: this.session, principal: simAgent, waitMs: 2000, releaseMs, deadlineMs };
      const run = await process.engine.openRun(open);
      if (run.attached) sim.counts.handedOver += 1;
      const time = this.#mayBranch && sim.rng.chance(0.2) ? sim.scheduler.now() : 0;
      await this.#converse({ process, run, handed: [], prompt: `It is ${time}.` }, start);
    } catch (error) {
      if (error instanceof ModelDownError) return;
      if (!(error instanceof FaultError)) throw error;
      if (error.fault.code === "SESSION_BUSY") sim.counts.busy += 1;
      else if (!expectedCodes.includes(error.fault.code)) sim.violate(`S11: a loop gets ${error.message}`);
    }
  }

  /** True if this seed plays users who edit, prompts with a clock and programs that leave a turn. */
  get #mayBranch(): boolean {
    return this.#sim.config.branches && !this.#sim.isSettling;
  }

  async #converse(start: LoopStart, number: number): Promise<void> {
    const { rng, counts } = this.#sim;
    this.#forget(start);
    while (this.#finished.length < this.#turns.length) {
      if (!(await this.#turn(start)) || number !== this.#start) return;
      if (rng.chance(0.1)) {
        counts.released += 1;
        await start.run.release();
      }
      this.#edit();
    }
    await start.run.close();
    this.#isDone = true;
    const late = await start.run
      .recordModelCall({ messages: [] }, () => this.#sim.violate("S3: the model is asked in a closed run"))
      .catch(() => null);
    if (late !== null) this.#sim.violate("S3: a closed run answers a request to the model");
  }

  /** Sometimes the program has lost the last turn: its user is answered again. */
  #forget({ run }: LoopStart): void {
    if (!this.#mayBranch || this.#edits >= MAX_EDITS || !this.#sim.rng.chance(0.3)) return;
    if (this.#finished.at(-1)?.run !== run.run_id) return;
    this.#edits += 1;
    this.#sim.counts.regenerated += 1;
    this.#finished = this.#finished.slice(0, -1);
  }

  /** Sometimes the user edits an earlier message: what followed it is left. */
  #edit(): void {
    if (!this.#mayBranch || this.#edits >= MAX_EDITS || !this.#sim.rng.chance(0.35)) return;
    const turn = this.#sim.rng.below(this.#finished.length);
    this.#edits += 1;
    this.#sim.counts.edited += 1;
    this.#versions[turn] = 1 + (this.#versions[turn] ?? 1);
    this.#finished = this.#finished.slice(0, turn);
  }

  /** Answers one user. Returns false if a call has not ended, so that the loop starts again later. */
  async #turn(start: LoopStart): Promise<boolean> {
    const { rng, counts } = this.#sim;
    const turn = this.#finished.length;
    const messages: SimMessage[] = [
      { role: "system", content: start.prompt },
      ...(this.#finished.at(-1)?.messages ?? []),
      userMessage(this.#turns[turn] ?? [], this.#versions[turn] ?? 1),
    ];
    for (;;) {
      const answer = await this.#ask(start, [...messages]);
      const { text, calls } = readSimAnswer(answer.content);
      if (answer.final) {
        const said = [...messages.slice(1), assistantMessage(text, [])];
        this.#finished.push({ run: start.run.run_id, messages: said });
        return true;
      }
      const results = await this.#calls(start, calls);
      if (results === null) return false;
      if (this.#mayBranch && rng.chance(0.03)) {
        counts.released += 1;
        await start.run.release(); // The program leaves its turn.
        return false;
      }
      messages.push(assistantMessage(text, calls), ...results);
    }
  }

  /** Asks in the lane of the conversation, and sometimes for a title, for the same once more, or for a second sample. */
  async #ask(start: LoopStart, messages: readonly SimMessage[]): Promise<ModelAnswer> {
    const { rng, counts, violate } = this.#sim;
    if (rng.chance(0.1)) void this.#record(start, "title", messages).catch(() => {});
    // The same at every start: a start that takes another sample than the one before it makes other calls.
    if (JSON.stringify(messages).length % 11 === 0) {
      counts.samples += 1;
      const first = await this.#record(start, lane, messages);
      if (first.final) return first; // It has finished the turn: another sample would be a branch.
    }
    if (rng.chance(0.05)) {
      counts.joined += 1;
      const [one, other] = await Promise.all([this.#request(start, lane, messages), this.#joins(start, messages)]);
      if (other !== null && one.step_id !== other.step_id && !one.replayed)
        violate(`S20: equal requests at once are answered by ${one.step_id} and ${other.step_id}`);
      this.#hand(start, lane, messages, one);
      return one;
    }
    return this.#record(start, lane, messages);
  }

  #joins(start: LoopStart, messages: readonly SimMessage[]): Promise<ModelAnswer | null> {
    return this.#request(start, lane, messages).catch(() => null);
  }

  async #record(start: LoopStart, of: string, messages: readonly SimMessage[]): Promise<ModelAnswer> {
    const since = this.#sim.conversations.epochOf(start.run.run_id, of);
    const answer = await this.#request(start, of, messages);
    this.#hand(start, of, messages, answer, since);
    return answer;
  }

  #hand(start: LoopStart, of: string, messages: readonly SimMessage[], answer: ModelAnswer, since = 0): void {
    const handed: HandedAnswer = {
      run: start.run.run_id,
      step: answer.step_id,
      lane: of,
      messages: [...messages],
      text: readSimAnswer(answer.content).text,
      isFinal: answer.final,
      isReplayed: answer.replayed,
      since,
    };
    this.#sim.conversations.onHandedOver(handed, start.handed);
    start.handed.push(handed);
  }

  #request({ process, run }: LoopStart, of: string, messages: readonly SimMessage[]): Promise<ModelAnswer> {
    const { conversations } = this.#sim;
    return run.recordModelCall(
      { model: "m", messages: [...messages] },
      async (context) => {
        const id = run.run_id;
        const end = conversations.onAsked(id, context.step_id, of, messages, process.number);
        if (this.#sim.rng.chance(0.03)) void this.#askAtOnce(run, of);
        try {
          return await this.#model.ask(process, { run: id, messages, isTitle: of !== lane }, context);
        } finally {
          end();
        }
      },
      { lane: of },
    );
  }

  /** Asks another question while the model is asked: it is refused. */
  async #askAtOnce(run: OpenRun, of: string): Promise<void> {
    const { counts, violate } = this.#sim;
    counts.askedAtOnce += 1;
    const ask = () => violate("S18: the model is asked another question at once in one lane");
    const request = { model: "m", messages: [{ role: "user", content: "at once" }] };
    await run.recordModelCall(request, ask, { lane: of }).catch(() => {});
  }

  /** Makes the calls of an answer. Returns their results, or null if a call has not ended. */
  async #calls(start: LoopStart, calls: readonly WantedCall[]): Promise<readonly SimMessage[] | null> {
    const { counts } = this.#sim;
    counts.calls += calls.length;
    const answers = await Promise.all(calls.map((call) => this.#call(start, call)));
    const results: SimMessage[] = [];
    for (const [index, call] of calls.entries()) {
      const status = answers[index] as CallAnswer["status"];
      if (status === "held") counts.held += 1;
      if (!["succeeded", "failed", "refused", "cancelled"].includes(status)) return null;
      results.push(resultMessage(call, status));
      if (this.#sim.rng.chance(0.2)) await start.run.markDelivered(call.id, { to: "a client", lane });
    }
    return results;
  }

  async #call(start: LoopStart, call: WantedCall): Promise<CallAnswer["status"]> {
    const { rng } = this.#sim;
    const { run, process } = start;
    const { tool, input } = call;
    if (tool === "task") {
      const answer = await run.callTool(call, {
        lane,
        run: (_, context) => runSubAgent(this.#sim, process, `${this.session}/helper`, input.of, context),
      });
      return this.#check(call, answer);
    }
    if (tool !== "act" && tool !== "read") return this.#check(call, await run.callTool(call, { lane }));
    const begun = await run.beginCall(call, { lane, forMs: rng.between(500, 10_000) });
    if (!("go" in begun)) return this.#check(call, begun);
    this.#hosts.begin({ id: input.of, kind: tool, isReused: false }, begun);
    for (;;) {
      const found = await run.findCall(call.id, { lane });
      if (found?.status !== "waiting") return found === null ? "waiting" : this.#check(call, found);
      await new Promise<void>((resolve) => later(this.#sim, 300, "loop waits", resolve));
    }
  }

  /** The output of a call is that of its goal, also if an earlier act answers it. */
  #check({ id, tool, input }: WantedCall, answer: CallAnswer): CallAnswer["status"] {
    const { violate, effects } = this.#sim;
    if (answer.status !== "succeeded") return answer.status;
    if (JSON.stringify(answer.output) !== JSON.stringify({ of: input.of }))
      violate(`S13: ${id} for ${input.of} is answered with ${JSON.stringify(answer.output)}`);
    if ((tool === "send" || tool === "act") && (effects.get(input.of) ?? 0) === 0)
      violate(`S14: ${id} succeeded off the world`);
    return answer.status;
  }
}
