import { describe, expect, it } from "vitest";
import { effectCount } from "./effect-count.ts";

const here = { cwd: import.meta.dirname, env: process.env };

describe("the user's counter", () => {
  it.each([
    ["a command", "echo 3", 3],
    ["a command line with everything a shell has", "printf 'a\\nb\\n' | wc -l", 2],
    ["one that lays its number out", "echo '   7  '", 7],
    ["one that reads its input, of which there is none", "cat; echo 0", 0],
  ])("is %s", async (_, command, count) => {
    expect(await effectCount(command, here)).toBe(count);
  });

  it.each([
    ["prints words", "echo three", /printed "three"; it must print one whole number/],
    ["prints a fraction", "echo 1.5", /printed "1.5"/],
    ["prints two numbers", "echo 1; echo 2", /printed "1\\n2"/],
    ["prints more than can be counted", "echo 99999999999999999999", /printed/],
    ["prints nothing", "true", /printed nothing/],
    ["fails", "exit 3", /failed \(exit code 3\); .* even before the first effect/],
    ["fails and says why", "cat no-such-file", /failed \(cat: no-such-file: .*\)/],
  ])("is refused when it %s", async (_, command, message) => {
    await expect(effectCount(command, here)).rejects.toMatchObject({
      fault: { code: "INVALID_INPUT", message: expect.stringMatching(message) },
    });
  });

  it("is not waited for for ever", async () => {
    await expect(effectCount("tail -f /dev/null", { ...here, timeoutMs: 20 })).rejects.toMatchObject({
      fault: { code: "INVALID_INPUT", message: expect.stringContaining("had not answered after 20 ms") },
    });
  });
});
