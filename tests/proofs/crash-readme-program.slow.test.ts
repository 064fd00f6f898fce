import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { packageRoot } from "../../crash/bundle-programs.ts";
import { CellRunner } from "../../crash/cell-runner.ts";
import type { KillPoint } from "../../crash/killer.ts";
import { mapConcurrently } from "../../crash/map-concurrently.ts";
import { waitForExit } from "../../crash/wait-for-exit.ts";
import { writePackageWithKillPoints } from "./write-package-with-kill-points.ts";

const runner = await CellRunner.create();

afterAll(() => runner.close());

/** Returns a folder with the program of the README and a package `writ` with kill points. */
function newHome(): string {
  const home = runner.newFolder();
  const [, program] =
    readFileSync(join(packageRoot, "README.md"), "utf8").match(/```js\n(\/\/ first\.mjs:[\s\S]*?)```/) ?? [];
  if (program === undefined) throw new Error("the README begins with a program called first.mjs");
  writeFileSync(join(home, "first.mjs"), program);
  writePackageWithKillPoints(runner, home);
  return home;
}

const run = (home: string, kill: KillPoint | null) =>
  waitForExit(runner.start([join(home, "first.mjs")], { WRIT_CRASH_KILL: JSON.stringify(kill) }, home));

/** The possible outputs of the program. */
const endings = /^(completed \{\s+state: 'succeeded'|partial \{\s+state: 'in_doubt')/m;
const mailsIn = (printed: string): number => printed.match(/^to ana@example\.org: /gm)?.length ?? 0;

describe("README program", () => {
  it("killed anywhere and run again, sends at most one mail and reports completed or in doubt", async () => {
    const undisturbed = newHome();
    expect(mailsIn((await run(undisturbed, null)).stdout)).toBe(1);
    const passed = JSON.parse(readFileSync(join(undisturbed, "passed.json"), "utf8")) as readonly KillPoint[];
    const places = passed.filter(({ point }) => !/\.(asked|landed)$/.test(point) || point === "append.landed");
    expect(places.length).toBeGreaterThan(15);

    const results = await mapConcurrently(places, async (kill) => {
      const home = newHome();
      const killed = await run(home, kill);
      const restarted = await run(home, null);
      const mails = mailsIn(killed.stdout + restarted.stdout);
      const [ending] = restarted.stdout.match(endings) ?? ["nothing"];
      return { at: `${kill.point} #${kill.nth}`, signal: killed.signal, code: restarted.code, mails, ending };
    });
    for (const { signal, code, mails, ending, at } of results) {
      const doubted = ending.startsWith("partial");
      expect([at, signal, code, ending]).toEqual([at, "SIGKILL", 0, expect.not.stringContaining("nothing")]);
      expect([at, mails <= 1, doubted || mails === 1]).toEqual([at, true, true]);
    }
    expect(results.some(({ ending }) => ending.startsWith("partial"))).toBe(true);
  }, 180_000);

  it("run once more after that, changes nothing", async () => {
    const home = newHome();
    const killed = await run(home, { point: "tool.after", nth: 1 });
    const restarted = [await run(home, null), await run(home, null)];
    const printed = [killed, ...restarted].map(({ stdout }) => stdout);
    expect(printed.map(mailsIn)).toEqual([1, 0, 0]);
    expect(printed[1]).toContain("in_doubt");
    expect(printed[2]).toBe(printed[1]);
  });
});
