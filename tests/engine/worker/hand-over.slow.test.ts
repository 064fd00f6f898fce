import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { afterAll, describe, expect, it, onTestFinished } from "vitest";
import { CellRunner } from "../../../crash/cell-runner.ts";
import type { HandOverTask } from "../../../crash/hand-over-process.ts";
import { worldFile } from "../../../crash/store-files.ts";
import { readWorldEntries } from "../../../crash/world-log.ts";
import { handoverFailpoints } from "../../../src/engine/ports/failpoint.ts";

const runner = await CellRunner.create();
afterAll(() => runner.close());

type Task = HandOverTask extends infer Each ? (Each extends unknown ? Omit<Each, "folder"> : never) : never;

function start(folder: string, task: Task): ChildProcess {
  const started = runner.start([runner.program("hand-over-process")], {
    WRIT_CRASH_TASK: JSON.stringify({ ...task, folder }),
  });
  onTestFinished(() => void started.kill("SIGKILL"));
  return started;
}

/** Returns the first line that the process prints; null if it dies before. */
async function firstLine({ stdout }: ChildProcess): Promise<Record<string, unknown> | null> {
  if (stdout === null) throw new Error("the process has no output");
  for await (const line of createInterface({ input: stdout })) return JSON.parse(line) as Record<string, unknown>;
  return null;
}

/** Starts a process that holds a run whose next step needs a tool that it lacks. */
async function holdRun(kill: string | null) {
  const folder = runner.newFolder();
  const holder = start(folder, { do: "hold", kill });
  const { run } = (await firstLine(holder)) as { run: string };
  return { folder, holder, run };
}

const mailsIn = (folder: string): number =>
  readWorldEntries(worldFile(folder)).filter(({ did }) => did === "send").length;

const finished = { status: "completed", state: "succeeded" };

describe("a run that one process hands over to another", () => {
  it("is finished by the process with its tool, while the other lives", async () => {
    const { folder, holder, run } = await holdRun(null);
    expect(await firstLine(start(folder, { do: "finish", run, kill: null }))).toEqual(finished);
    expect([holder.exitCode, holder.signalCode, mailsIn(folder)]).toEqual([null, null, 1]);
  });

  it("is finished although its holder dies before it releases the run", async () => {
    const { folder, holder, run } = await holdRun("handover.before");
    const died = once(holder, "close");
    const finisher = start(folder, { do: "finish", run, kill: null });
    expect((await died)[1]).toBe("SIGKILL");
    expect([await firstLine(finisher), mailsIn(folder)]).toEqual([finished, 1]);
  });

  it.each(["handover.asked", "claim.after"])(
    "is finished by a third process if the second dies at %s",
    async (kill) => {
      const { folder, run } = await holdRun(null);
      const second = start(folder, { do: "finish", run, kill });
      expect((await once(second, "close"))[1]).toBe("SIGKILL");
      const third = start(folder, { do: "finish", run, kill: null });
      expect([await firstLine(third), mailsIn(folder)]).toEqual([finished, 1]);
    },
  );

  it("is killed here at every failpoint of a hand-over", () => {
    expect(handoverFailpoints).toEqual(["handover.asked", "handover.before"]);
  });
});
