import { rmSync } from "node:fs";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { told } from "./cli-host.ts";
import { workplace } from "./cli-workplace.ts";

let cwd: string;

beforeEach(() => {
  cwd = workplace();
});

afterEach(() => rmSync(cwd, { recursive: true }));

const json = async (...words: readonly string[]) => {
  const { exit, out } = await told(cwd, ...words, "--json");
  return { exit, answer: JSON.parse(out) };
};

describe("schedule", () => {
  it("sets, pauses, resumes and removes, and schedules tells", async () => {
    const set = await json("schedule", "note", "plan.json", "--cron", "30 9 * * mon-fri", "--zone", "Europe/Berlin");
    const terms = { schedule: "note", cron: "30 9 * * mon-fri", zone: "Europe/Berlin", catch_up: "latest" };
    expect(set).toMatchObject({ exit: 0, answer: { ...terms, status: "on", last: null } });
    expect((await told(cwd, "schedules")).out).toMatch(/^note +30 9 \* \* mon-fri +Europe\/Berlin +\d{4}-/);
    await told(cwd, "schedule", "note", "--pause");
    expect(await json("schedules")).toMatchObject({ answer: { schedules: [{ status: "paused", next_at: null }] } });
    expect(await json("schedule", "note", "--resume")).toEqual({
      exit: 0,
      answer: { schedule: "note", done: "resume" },
    });
    expect((await told(cwd, "schedule", "note", "--remove")).out).toBe("schedule note: is gone\n");
    expect(await json("schedules")).toEqual({ exit: 0, answer: { schedules: [] } });
  });

  it.each([
    [["note"], "give either a plan"],
    [["note", "plan.json", "--pause"], "give either a plan"],
    [["note", "--pause", "--remove"], "give either a plan"],
    [["note", "--pause", "--cron", "@daily"], "give either a plan"],
    [["note", "plan.json"], "say when"],
    [["note", "plan.json", "--cron", "x"], "five fields"],
    [["note", "plan.json", "--cron", "@daily", "--zone", "Mars"], "no time zone Mars"],
    [["note", "plan.json", "--cron", "@daily", "--catch-up", "some"], "--catch-up"],
  ])("%j cannot be understood", async (words, message) => {
    const { exit, err } = await told(cwd, "schedule", ...words);
    expect({ exit, err }).toEqual({ exit: 2, err: expect.stringContaining(message) });
  });

  it("that is not there says so", async () => {
    await told(cwd, "schedule", "note", "plan.json", "--cron", "@daily");
    const { exit, err } = await told(cwd, "schedule", "letter", "--pause");
    expect({ exit, err }).toEqual({ exit: 5, err: expect.stringContaining("there is no schedule letter") });
  });
});
