import { spawn } from "node:child_process";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { repositoryRoot } from "../repo/repository-path.ts";
import { takesAllCases } from "../select-cases.ts";

interface Figures {
  readonly steps: number;
  readonly seeds: number;
  readonly violations: number;
  readonly planted: number;
  readonly found: number;
  readonly counts: Readonly<Record<string, number>>;
  readonly trace?: string;
  readonly hunted?: readonly { readonly name: string; readonly found: object | null }[];
}

/** Runs a program of the repository and answers with what it says. */
function run(...args: readonly string[]): Promise<{ readonly said: string; readonly complained: string }> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, args, { cwd: repositoryRoot, stdio: ["ignore", "pipe", "pipe"] });
    const heard = { said: "", complained: "" };
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      heard.said += text;
    });
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      heard.complained += text;
    });
    child.on("error", reject);
    child.on("close", () => resolve(heard));
  });
}

async function sim(...args: readonly string[]): Promise<Figures & { readonly complained: string }> {
  const { said, complained } = await run(join("dist-sim", "sim", "main.js"), "--json", ...args);
  if (said === "") throw new Error(complained);
  return { ...(JSON.parse(said) as Figures), complained };
}

/** The steps of `npm test`, and of the long proofs. */
const sessionSteps = takesAllCases ? 250_000 : 50_000;
const engineSteps = takesAllCases ? 1_000_000 : 200_000;

/** Returns the kinds of events that never occurred. Only the long proofs have enough steps for the rare ones. */
function eventsMissing(counts: Readonly<Record<string, number>>): readonly string[] {
  return takesAllCases ? Object.keys(counts).filter((name) => counts[name] === 0) : [];
}

beforeAll(async () => {
  const { complained } = await run(join("scripts", "build.js"), "--sim");
  expect(complained).toBe("");
});

describe("simulator", () => {
  it("plays one seed the same way, to the last step", async () => {
    const [once, again] = await Promise.all([sim("--seed", "7"), sim("--seed", "7")]);
    expect(once.trace).toMatch(/^[0-9a-f]{8}$/);
    expect(again).toEqual(once);
    expect((await sim("--seed", "8")).trace).not.toBe(once.trace);
  });

  it("finds no broken law of sessions, and in the long proofs every event occurs", async () => {
    const { complained, violations, counts, steps } = await sim(
      "--sessions",
      "--planted",
      "none",
      "--steps",
      String(sessionSteps),
      "--seed",
      "1",
    );
    expect([complained, violations]).toEqual(["", 0]);
    expect(steps).toBeGreaterThanOrEqual(sessionSteps);
    expect(eventsMissing(counts)).toEqual([]);
  });

  it("ends every random plan as the serial model does, with kills, failures and rollbacks", async () => {
    const steps = String(takesAllCases ? 200_000 : 30_000);
    const { complained, violations, seeds, counts } = await sim(
      "--plans",
      "--planted",
      "none",
      "--steps",
      steps,
      "--seed",
      "1",
    );
    expect([complained, violations]).toEqual(["", 0]);
    expect(seeds).toBeGreaterThanOrEqual(200);
    expect(Object.keys(counts).filter((name) => counts[name] === 0)).toEqual([]);
  });

  it("finds no broken invariant, and in the long proofs every event occurs", { timeout: 600_000 }, async () => {
    const half = ["--planted", "none", "--steps", String(engineSteps / 2), "--seed"];
    const halves = await Promise.all([sim(...half, "1"), sim(...half, "1000000")]);
    expect(halves.map(({ complained, violations }) => [complained, violations])).toEqual([
      ["", 0],
      ["", 0],
    ]);
    expect(halves[0].steps + halves[1].steps).toBeGreaterThanOrEqual(engineSteps);
    for (const { counts } of halves) {
      expect(Object.keys(counts)).toEqual(expect.arrayContaining(["kills", "fenced", "lost", "doubts", "powerCuts"]));
      expect(eventsMissing(counts)).toEqual([]);
    }
  });

  it("finds no broken law of the processes of one SQLite file", { timeout: 600_000 }, async () => {
    const { complained, violations, counts } = await sim(
      "--file",
      "--planted",
      "none",
      "--steps",
      String(takesAllCases ? 15_000 : 5000),
      "--seed",
      "1",
    );
    expect([complained, violations]).toEqual(["", 0]);
    expect(eventsMissing(counts)).toEqual([]);
  });

  it("plays one seed of the processes the same way, to the last step", async () => {
    const [once, again] = await Promise.all([sim("--file", "--seed", "2"), sim("--file", "--seed", "2")]);
    expect(again).toEqual(once);
  });

  it("finds the bugs that are planted in a copy of the engine", { timeout: 600_000 }, async () => {
    const { planted, found, hunted } = await sim(
      "--planted",
      "known",
      "--every",
      takesAllCases ? "1" : "6",
      "--steps",
      "0",
      "--seed",
      "1",
    );
    expect(hunted?.filter((bug) => bug.found === null).map(({ name }) => name)).toEqual([]);
    expect(planted).toBeGreaterThanOrEqual(20);
    expect(found).toBe(planted);
  });
});
