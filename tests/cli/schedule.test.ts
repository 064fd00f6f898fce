import { rmSync } from "node:fs";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { newProjectFolder } from "./project-folder.ts";
import { runCli } from "./run-cli.ts";

let cwd: string;

beforeEach(() => {
  cwd = newProjectFolder();
});

afterEach(() => rmSync(cwd, { recursive: true }));

const json = async (...words: readonly string[]) => {
  const { exit, out } = await runCli(cwd, ...words, "--json");
  return { exit, answer: JSON.parse(out) };
};

describe("writ schedule", () => {
  it("sets, pauses, resumes and removes a schedule, and schedules lists it", async () => {
    const set = await json("schedule", "note", "plan.json", "--cron", "30 9 * * mon-fri", "--zone", "Europe/Berlin");
    const terms = { schedule: "note", cron: "30 9 * * mon-fri", zone: "Europe/Berlin", catch_up: "latest" };
    expect(set).toMatchObject({ exit: 0, answer: { ...terms, status: "on", last: null } });
    expect((await runCli(cwd, "schedules")).out).toMatch(/^note +30 9 \* \* mon-fri +Europe\/Berlin +\d{4}-/);
    await runCli(cwd, "schedule", "note", "--pause");
    expect(await json("schedules")).toMatchObject({ answer: { schedules: [{ status: "paused", next_at: null }] } });
    expect(await json("schedule", "note", "--resume")).toEqual({
      exit: 0,
      answer: { schedule: "note", done: "resume" },
    });
    expect((await runCli(cwd, "schedule", "note", "--remove")).out).toBe("schedule note: removed\n");
    expect(await json("schedules")).toEqual({ exit: 0, answer: { schedules: [] } });
  });

  it.each([
    [["note"], "give either a plan"],
    [["note", "plan.json", "--pause"], "give either a plan"],
    [["note", "--pause", "--remove"], "give either a plan"],
    [["note", "--pause", "--cron", "@daily"], "give either a plan"],
    [["note", "plan.json"], "give the times"],
    [["note", "plan.json", "--cron", "x"], "five fields"],
    [["note", "plan.json", "--cron", "@daily", "--zone", "Mars"], "no time zone Mars"],
    [["note", "plan.json", "--cron", "@daily", "--catch-up", "some"], "--catch-up"],
  ])("refuses %j", async (words, message) => {
    const { exit, err } = await runCli(cwd, "schedule", ...words);
    expect({ exit, err }).toEqual({ exit: 2, err: expect.stringContaining(message) });
  });

  it("reports an unknown schedule", async () => {
    await runCli(cwd, "schedule", "note", "plan.json", "--cron", "@daily");
    const { exit, err } = await runCli(cwd, "schedule", "letter", "--pause");
    expect({ exit, err }).toEqual({ exit: 5, err: expect.stringContaining("there is no schedule letter") });
  });
});
