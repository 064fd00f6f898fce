import type { ChildProcess } from "node:child_process";
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { afterAll, describe, expect, it, onTestFinished } from "vitest";
import { CellRunner } from "../../../crash/cell-runner.ts";
import type { StoppedLine, StoppedTask } from "../../../crash/stopped-process.ts";
import { worldFile } from "../../../crash/store-files.ts";
import { readWorldEntries } from "../../../crash/world-log.ts";

const runner = await CellRunner.create();
afterAll(() => runner.close());

function start(
  task: StoppedTask,
  programs = runner,
): { readonly child: ChildProcess; readonly lines: AsyncIterator<StoppedLine> } {
  const child = runner.start([programs.program("stopped-process")], { WRIT_CRASH_TASK: JSON.stringify(task) });
  onTestFinished(() => void child.kill("SIGKILL"));
  return { child, lines: linesOf(child) };
}

async function* linesOf({ stdout }: ChildProcess): AsyncGenerator<StoppedLine> {
  if (stdout === null) throw new Error("the process has no output");
  for await (const line of createInterface({ input: stdout })) yield JSON.parse(line) as StoppedLine;
}

/** Returns the next lines, until one fits. */
async function linesUntil(lines: AsyncIterator<StoppedLine>, fits: (line: StoppedLine) => boolean) {
  const found: StoppedLine[] = [];
  for (;;) {
    const { value, done } = await lines.next();
    if (done) throw new Error(`the process has ended after ${JSON.stringify(found)}`);
    found.push(value);
    if (fits(value)) return found;
  }
}

/** Resolves when the operating system reports that the process is stopped. */
async function waitUntilStopped(pid: number): Promise<void> {
  while (!/^State:\s+T/m.test(readFileSync(`/proc/${pid}/status`, "utf8")))
    await new Promise((resolve) => setTimeout(resolve, 5));
}

const mailsIn = (folder: string): number => readWorldEntries(worldFile(folder)).length;

/** Stops a process inside an act for longer than `stallMs`, until another one has found the act absent several times. */
async function stopInsideAct() {
  const folder = runner.newFolder();
  const sender = start({ folder, do: "act" });
  const [{ run = "" } = {}] = await linesUntil(sender.lines, (line) => line.run !== undefined);
  await waitUntilStopped(sender.child.pid ?? 0);
  const observer = start({ folder, do: "observe", run });
  let absent = 0;
  const seen = await linesUntil(observer.lines, ({ saw }) => saw === "absent" && ++absent === 3);
  expect(seen.map(({ saw, acts }) => [saw, acts])).toEqual(Array.from({ length: 3 }, () => ["absent", 0]));
  expect(mailsIn(folder)).toBe(0);
  return { folder, sender, observer };
}

describe("a process that is stopped inside an act with a verifier, beyond the time after which it is stalled", () => {
  it("makes the act once when it continues: absent repeated nothing, and the verifier then sees it", async () => {
    const { folder, sender, observer } = await stopInsideAct();
    sender.child.kill("SIGCONT");
    const seen = await linesUntil(observer.lines, ({ status }) => status !== undefined);
    expect(seen.at(-1)).toEqual({ status: "completed" });
    expect(seen.some(({ saw }) => saw === "happened")).toBe(true);
    expect(seen.some(({ acts = 0 }) => acts > 0)).toBe(false);
    expect(mailsIn(folder)).toBe(1);
  });

  it("makes the act a second time if a call whose worker is listed counts as ended, which this test would notice", async () => {
    const folder = runner.newFolder();
    const patched = await runner.withPatches({
      program: "stopped-process",
      stuckMs: runner.stuckMs,
      patches: [
        {
          file: "engine/worker/find-executing-worker.js",
          from: "const others = sent.filter(({ worker }) => worker !== own);",
          to: "const others = [];",
        },
      ],
    });
    const sender = start({ folder, do: "act" });
    const [{ run = "" } = {}] = await linesUntil(sender.lines, (line) => line.run !== undefined);
    await waitUntilStopped(sender.child.pid ?? 0);
    const observer = start({ folder, do: "observe", run }, patched);
    await linesUntil(observer.lines, ({ status }) => status !== undefined);
    sender.child.kill("SIGCONT");
    while (mailsIn(folder) < 2) await new Promise((resolve) => setTimeout(resolve, 20));
  });

  it("leaves the act to the other process when it is killed, which makes it once", async () => {
    const { folder, sender, observer } = await stopInsideAct();
    sender.child.kill("SIGKILL");
    const seen = await linesUntil(observer.lines, ({ status }) => status !== undefined);
    expect(seen.at(-1)).toEqual({ status: "completed" });
    expect(mailsIn(folder)).toBe(1);
  });
});
