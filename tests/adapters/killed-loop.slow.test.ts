import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { JsonObject } from "../../src/core/values/json.ts";
import type { ScriptedAnswer } from "../../src/testing/scripted-model/model-script.ts";
import { scriptedModel } from "../../src/testing/scripted-model/scripted-model.ts";
import { repositoryPath } from "../repo/repository-path.ts";
import { selectCases } from "../select-cases.ts";

/** An answer that searches, one that sends two mails, and one that ends. `ids`: the ids of the two calls. */
function scriptOf(people: readonly string[], ids: readonly string[] = []): readonly ScriptedAnswer[] {
  const sends = people.map((to, at) => ({
    ...(ids[at] !== undefined && { id: ids[at] }),
    tool: "send",
    input: { to },
  }));
  return [{ calls: [{ tool: "search", input: { q: "ana" } }] }, { calls: sends }, { text: "done" }];
}

const distinct = scriptOf(["ana", "bo"]);

const loops = [
  { loop: "generateText", sdk: "ai-sdk", script: distinct },
  { loop: "streamText", sdk: "ai-sdk-stream", script: distinct },
  { loop: "generateText, calls without ids", sdk: "ai-sdk", script: scriptOf(["ana", "bo"], ["", ""]) },
  { loop: "streamText, calls without ids", sdk: "ai-sdk-stream", script: scriptOf(["ana", "bo"], ["", ""]) },
  { loop: "streamText, a call twice", sdk: "ai-sdk-stream", script: scriptOf(["ana", "ana"], ["same", "same"]) },
  { loop: "OpenAI chat", sdk: "openai", script: distinct },
  { loop: "Anthropic messages", sdk: "anthropic", script: distinct },
] as const;

type Loop = (typeof loops)[number];

interface Ended {
  readonly signal: NodeJS.Signals | null;
  readonly output: string;
}

interface Killed {
  readonly appends: number;
  readonly isKilled: boolean;
}

function started(args: readonly string[]): Promise<Ended> {
  const program = repositoryPath("tests", "adapters", "killed-loop-program.mjs");
  const child = spawn(process.execPath, [program, ...args], { stdio: ["ignore", "pipe", "inherit"] });
  let output = "";
  child.stdout.on("data", (chunk: Buffer) => {
    output += chunk.toString("utf8");
  });
  return new Promise((resolve) => child.once("close", (_, signal) => resolve({ signal, output })));
}

/** Kills the program at one append, starts it again, and checks the effects and the requests of both. */
async function killAndResume({ loop, sdk, script }: Loop, nth: number, moment: "before" | "after"): Promise<Killed> {
  const folder = mkdtempSync(join(tmpdir(), "writ-killed-loop-"));
  const model = await scriptedModel(script);
  const run = (at: number) => started([sdk, folder, model.origin, String(at), moment]);
  const world = () => readFileSync(join(folder, "world"), { encoding: "utf8", flag: "a+" }).split("\n");
  const count = (line: string) => world().filter((each) => each === line).length;
  try {
    const first = await run(nth);
    const unanswered = count("ask") - count("told");
    const last = first.signal === null ? first : await run(0);
    const where = `${loop}, killed ${moment} append ${nth}`;
    expect(last.output, where).toContain('"text":"done"');
    // An act that was sent, or about to be, when its process died is in doubt: it is not repeated, and the model knows.
    for (const to of new Set(script[1]?.calls?.map(({ input }) => (input as JsonObject).to))) {
      const isInDoubt = JSON.stringify(model.requests.at(-1)).includes("In doubt");
      expect(count(`send ${to}`), where).toBeLessThanOrEqual(1);
      if (!isInDoubt) expect(count(`send ${to}`), where).toBe(1);
    }
    // Only the answer that was not on record yet is asked for again.
    expect(model.requests.length, where).toBeLessThanOrEqual(script.length + unanswered);
    return { appends: (JSON.parse(last.output) as { appends: number }).appends, isKilled: first.signal === "SIGKILL" };
  } finally {
    await model.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

describe.each(loops)("a loop over $loop that is killed by SIGKILL", (loop) => {
  it.each(["before", "after"] as const)("%s each append: nothing is asked or done twice", async (moment) => {
    const { appends } = await killAndResume(loop, 0, moment);
    expect(appends).toBeGreaterThan(8);
    const all = Array.from({ length: appends }, (_, index) => index + 1);
    const waiting = [...selectCases(all, 4)];
    const points = waiting.length;
    let kills = 0;
    const worker = async () => {
      for (let nth = waiting.shift(); nth !== undefined; nth = waiting.shift())
        if ((await killAndResume(loop, nth, moment)).isKilled) kills += 1;
    };
    await Promise.all([worker(), worker(), worker()]);
    // Appends that come together in one turn are one in some runs and two in others.
    expect(kills).toBeGreaterThanOrEqual(Math.max(1, points - 3));
  });
});
