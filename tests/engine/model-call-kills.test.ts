import { describe, expect, it } from "vitest";
import type { Store } from "../../src/core/store/store.ts";
import type { Engine } from "../../src/engine/api/engine-api.ts";
import type { OpenRun } from "../../src/engine/api/open-run-api.ts";
import { anaPerson, botAgent, type EngineFixture, storeKinds } from "./engine-fixture.ts";
import { mailTool, openChat } from "./open-run-fixture.ts";
import { assistant, chat, chatAnswer, chatStream, resultForClient, type ToolUse, user } from "./scripted-model.ts";
import { collectJournal } from "./scripted-tool.ts";

/** Kills the process before its nth append, or after the append landed and before its answer. */
interface Kill {
  readonly append: number;
  readonly when: "before" | "after";
}

/** The loop of an agent over a model that invents new ids and other words with every answer. */
class KilledLoop {
  readonly sent = mailTool();
  asked = 0;
  runId = "";
  /** The loop has received the last answer. */
  hasAnswer = false;
  readonly #stage: EngineFixture;
  readonly #streams: boolean;
  #isDead = false;
  #onDeath = () => {};
  #death: Promise<void> = Promise.resolve();

  constructor(stage: EngineFixture, streams: boolean) {
    this.#stage = stage;
    this.#streams = streams;
  }

  /** Runs the loop in a new process. Returns the number of its appends, or null if it was killed. */
  async start(kill: Kill | null): Promise<number | null> {
    this.#isDead = false;
    this.#death = new Promise((resolve) => {
      this.#onDeath = resolve;
    });
    let appends = 0;
    const real = this.#stage.store();
    const append: Store["append"] = async (entries) => {
      appends += 1;
      if (kill?.append === appends && kill.when === "before") return this.#die();
      const landed = await real.append(entries);
      return kill?.append === appends && kill.when === "after" ? this.#die() : landed;
    };
    const engine = await this.#stage.open({ tools: [this.sent.tool], store: { ...real, append } });
    let ended = false;
    const loop = this.#loop(engine).then(() => {
      ended = true;
    });
    for (let passed = 0; !ended && !this.#isDead && passed < 120_000; passed += 250) await this.#stage.advance(250);
    if (this.#isDead) return null;
    await loop;
    const isClosed = await Promise.race([engine.close().then(() => true), this.#death.then(() => false)]);
    return isClosed ? appends : null;
  }

  #die(): Promise<never> {
    this.#isDead = true;
    this.#onDeath();
    void this.#stage.crash();
    return new Promise(() => {});
  }

  async #loop(engine: Engine): Promise<void> {
    const run = await openChat(engine, { waitMs: 60_000 });
    this.runId = run.run_id;
    const messages = [user("tell ana")];
    for (;;) {
      const texts: unknown[] = [];
      const onChunk = (chunk: unknown) => texts.push(chunk);
      const answer = await run.recordModelCall(chat(...messages), () => this.#answer(), { onChunk });
      if (this.#streams) expect(answer.content).toEqual({ form: "text", text: texts.join("") });
      this.hasAnswer = answer.final;
      if (answer.final) return;
      const [call] = answer.calls;
      const use = { id: call?.id ?? "", tool: "mail", input: { to: "ana" } };
      const result = await this.#call(engine, run, use);
      messages.push(assistant(null, use), resultForClient(use.id, result));
    }
  }

  /** Calls the tool. A person settles an act in doubt: the mail was sent. */
  async #call(engine: Engine, run: OpenRun, use: ToolUse): Promise<unknown> {
    const answer = await run.callTool(use);
    if (answer.status !== "in_doubt") return answer;
    const [turn] = (await run.turns()).filter(({ calls }) => calls.length > 0);
    const step = turn?.calls[0]?.step_id ?? "";
    await engine.resolve(run.run_id, step, { principal: anaPerson, as: "happened", output: { id: step } });
    return run.findCall(use.id);
  }

  #answer(): unknown {
    this.asked += 1;
    const isFirst = this.sent.calls.length === 0;
    const use = { id: `call_${this.asked}`, tool: "mail", input: { to: "ana" } };
    if (this.#streams) return chatStream(`answer ${this.asked}`, ...(isFirst ? [use] : []));
    return chatAnswer(`answer ${this.asked}`, ...(isFirst ? [use] : []));
  }
}

describe.each(storeKinds)("a loop over a model whose process is killed, on $name", ({ newFixture }) => {
  it.each([
    ["before", "whole answers", false],
    ["after", "whole answers", false],
    ["before", "streams", true],
    ["after", "streams", true],
  ] as const)(
    "%s any append, with %s, continues in the next process: the act is done once, and no branch is made",
    async (when, _what, streams) => {
      const appends = await new KilledLoop(newFixture(), streams).start(null);
      expect(appends).toBeGreaterThan(5);
      for (let append = 1; append <= Number(appends); append += 1) {
        const stage = newFixture();
        const loop = new KilledLoop(stage, streams);
        await loop.start({ append, when });
        if (!loop.hasAnswer) await loop.start(null); // After the turn is finished, the same question is a new one.
        expect(loop.sent.calls.length, `killed ${when} append ${append}`).toBe(1);
        expect(loop.asked, `killed ${when} append ${append}`).toBeLessThanOrEqual(3); // One answer was not on record.
        const engine = await stage.open({ tools: [], work: false });
        expect(await engine.audit({ principal: anaPerson })).toMatchObject({ runs: 1, broken: [], rows: [] });
        const events = await collectJournal(await engine.run(loop.runId, { principal: botAgent }));
        expect(events.filter(({ type }) => type === "run.branched")).toEqual([]);
      }
    },
  );
});
