import { describe, expect, it } from "vitest";
import { runCountCommand } from "./run-count-command.ts";

const here = { cwd: import.meta.dirname, env: process.env };

describe("effect counter", () => {
  it.each([
    ["a command", "echo 3", 3],
    ["a command line with a pipe", "printf 'a\\nb\\n' | wc -l", 2],
    ["one that prints spaces around its number", "echo '   7  '", 7],
    ["one that reads its empty input", "cat; echo 0", 0],
  ])("accepts %s", async (_, command, count) => {
    expect(await runCountCommand(command, here)).toBe(count);
  });

  it.each([
    ["prints words", "echo three", /printed "three"; it must print one whole number/],
    ["prints a fraction", "echo 1.5", /printed "1.5"/],
    ["prints two numbers", "echo 1; echo 2", /printed "1\\n2"/],
    ["prints a number that is too large", "echo 99999999999999999999", /printed/],
    ["prints nothing", "true", /printed nothing/],
    ["fails", "exit 3", /failed \(exit code 3\); .* even before the first effect/],
    ["fails and says why", "cat no-such-file", /failed \(cat: no-such-file: .*\)/],
  ])("refuses a counter that %s", async (_, command, message) => {
    await expect(runCountCommand(command, here)).rejects.toMatchObject({
      fault: { code: "INVALID_INPUT", message: expect.stringMatching(message) },
    });
  });

  it("stops waiting for a counter that hangs", async () => {
    await expect(runCountCommand("tail -f /dev/null", { ...here, timeoutMs: 20 })).rejects.toMatchObject({
      fault: { code: "INVALID_INPUT", message: expect.stringContaining("did not end within 20 ms") },
    });
  });
});
