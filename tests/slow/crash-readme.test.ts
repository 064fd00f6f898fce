import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, describe, expect, it } from "vitest";
import { dist, root } from "../../crash/bundle.ts";
import { inTurns } from "../../crash/in-turns.ts";
import type { Kill } from "../../crash/killer.ts";
import { ended } from "../../crash/life.ts";
import { Stage } from "../../crash/stage.ts";

const stage = await Stage.raise();

afterAll(() => stage.strike());

/** A folder with the README's program in it, and with the built package where the program looks for it. */
function newHome(): string {
  const home = stage.newFolder();
  const [, program] = readFileSync(join(root, "README.md"), "utf8").match(/```js\n(\/\/ first\.mjs:[\s\S]*?)```/) ?? [];
  if (program === undefined) throw new Error("the README begins with a program called first.mjs");
  writeFileSync(join(home, "first.mjs"), program);
  const writ = join(home, "node_modules/writ");
  mkdirSync(writ, { recursive: true });
  symlinkSync(join(root, "node_modules/zod"), join(home, "node_modules/zod"));
  for (const [file, text] of Object.entries(deadlyWrit)) writeFileSync(join(writ, file), text);
  return home;
}

const urlOf = (...path: readonly string[]): string => JSON.stringify(pathToFileURL(join(...path)).href);

/** The built package behind doors of the same names, which can kill the program and note where it could have died. */
const deadlyWrit = {
  "package.json": JSON.stringify({
    name: "writ",
    type: "module",
    exports: { ".": "./index.js", "./sqlite": "./sqlite.js" },
  }),
  "killer.js": `
    import { writeFileSync } from "node:fs";
    import { Killer } from ${urlOf(stage.program("killer"))};
    export const killer = new Killer(JSON.parse(process.env.WRIT_CRASH_KILL));
    process.on("exit", () => writeFileSync("passed.json", JSON.stringify(killer.passed)));`,
  "index.js": `
    import { createEngine as real } from ${urlOf(dist, "index.js")};
    import { killer } from "./killer.js";
    export * from ${urlOf(dist, "index.js")};
    export const createEngine = (options) => real({ ...options, failpoint: killer.at });`,
  "sqlite.js": `
    import { sqlite as real } from ${urlOf(dist, "sqlite.js")};
    import { deadly } from ${urlOf(stage.program("killer"))};
    import { killer } from "./killer.js";
    export const sqlite = (file) => deadly(real(file), killer);`,
};

const run = (home: string, kill: Kill | null) =>
  ended(stage.start([join(home, "first.mjs")], { WRIT_CRASH_KILL: JSON.stringify(kill) }, home));

/** What came of it, as its user sees it. */
const endings = /^(completed \{\s+state: 'succeeded'|partial \{\s+state: 'in_doubt')/m;
const mailsIn = (printed: string): number => printed.match(/^to ana@example\.org: /gm)?.length ?? 0;

describe("the README's program", () => {
  it("killed anywhere and run again, sends at most one mail, and says completed or in doubt", async () => {
    const calm = newHome();
    expect(mailsIn((await run(calm, null)).stdout)).toBe(1);
    const passed = JSON.parse(readFileSync(join(calm, "passed.json"), "utf8")) as readonly Kill[];
    const places = passed.filter(({ point }) => !/\.(asked|landed)$/.test(point) || point === "append.landed");
    expect(places.length).toBeGreaterThan(15);

    const stories = await inTurns(places, async (kill) => {
      const home = newHome();
      const killed = await run(home, kill);
      const restarted = await run(home, null);
      const mails = mailsIn(killed.stdout + restarted.stdout);
      const [ending] = restarted.stdout.match(endings) ?? ["nothing"];
      return { at: `${kill.point} #${kill.nth}`, signal: killed.signal, code: restarted.code, mails, ending };
    });
    for (const { signal, code, mails, ending, at } of stories) {
      const doubted = ending.startsWith("partial");
      expect([at, signal, code, ending]).toEqual([at, "SIGKILL", 0, expect.not.stringContaining("nothing")]);
      expect([at, mails <= 1, doubted || mails === 1]).toEqual([at, true, true]);
    }
    expect(stories.some(({ ending }) => ending.startsWith("partial"))).toBe(true);
  }, 180_000);

  it("run once more after that, changes nothing", async () => {
    const home = newHome();
    const killed = await run(home, { point: "tool.after", nth: 1 });
    const again = [await run(home, null), await run(home, null)];
    const printed = [killed, ...again].map(({ stdout }) => stdout);
    expect(printed.map(mailsIn)).toEqual([1, 0, 0]);
    expect(printed[1]).toContain("in_doubt");
    expect(printed[2]).toBe(printed[1]);
  });
});
