import { spawn, spawnSync } from "node:child_process";
import { expect, it } from "vitest";
import { z } from "zod";
import { defineTool } from "../../src/schema/define-tool.ts";
import { repositoryPath } from "../repo/repository-path.ts";
import { serveEngine } from "./server-fixture.ts";

const hasPython = spawnSync("python3", ["--version"]).status === 0;
if (!hasPython) process.stderr.write("\nSKIPPED: the example in Python. Install python3.\n\n");

it.skipIf(!hasPython)("an agent in Python runs its own tool, once per call id", async () => {
  const count = defineTool({
    name: "text.count",
    effect: "reads",
    input: z.object({ text: z.string() }),
    output: z.object({ words: z.number() }),
    run: "external",
  });
  const served = await serveEngine({ engine: { tools: [count] } });
  const env = { ...process.env, WRIT_SERVER: served.server.url, WRIT_TOKEN: served.key({ id: "py", kind: "agent" }) };
  const output = await new Promise<string>((resolve, reject) => {
    const child = spawn("python3", [repositoryPath("examples/python/agent.py")], { env });
    let text = "";
    child.stdout.on("data", (part) => {
      text += part;
    });
    child.stderr.on("data", (part) => {
      text += part;
    });
    child.once("error", reject).once("close", () => resolve(text));
  });
  expect(output).toBe('succeeded {"words": 3}\nsession completed\n');
  await served.close();
});
