import { spawnSync } from "node:child_process";
import { describe, expect, it } from "vitest";
import { repositoryPath } from "./repository-path.ts";

describe("examples/support-agent", () => {
  it("pays once and asks the model once for each answer, though its process is killed twice", () => {
    const program = repositoryPath("examples", "support-agent", "main.mjs");
    const { stdout, stderr, status } = spawnSync(process.execPath, [program, "--json"], {
      encoding: "utf8",
      timeout: 120_000,
    });
    expect({ stderr, status }).toEqual({ stderr: "", status: 0 });
    expect(JSON.parse(stdout)).toEqual({
      status: "completed",
      text: "Half of your order is paid back.",
      payments: 1,
      asked: 4,
    });
  });
});
