import { spawn, spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { repositoryPath } from "../repo/repository-path.ts";
import { planOf, serveEngine } from "./server-fixture.ts";

const hasCurl = spawnSync("curl", ["--version"]).status === 0;
if (!hasCurl) process.stderr.write("\nSKIPPED: the requests of docs/http-api.md. Install curl.\n\n");

/** The commands of the section "First requests". */
function commandsOfPage(): string {
  const page = readFileSync(repositoryPath("docs/http-api.md"), "utf8");
  return /```sh\n([\s\S]*?)```/.exec(page)?.[1] ?? "";
}

function outputOf(commands: string, cwd: string, env: Readonly<Record<string, string>>): Promise<string> {
  return new Promise((resolve, reject) => {
    const shell = spawn("sh", ["-euc", commands], { cwd, env: { ...process.env, ...env } });
    let text = "";
    shell.stdout.on("data", (part) => {
      text += part;
    });
    shell.stderr.on("data", (part) => {
      text += part;
    });
    shell.once("error", reject).once("close", () => resolve(text));
  });
}

it.skipIf(!hasCurl)("the requests of docs/http-api.md submit, approve and follow a run, and it acts once", async () => {
  const served = await serveEngine();
  const folder = mkdtempSync(join(tmpdir(), "writ-curl-"));
  writeFileSync(join(folder, "plan.json"), JSON.stringify(planOf("ana@example.org")));
  const env = {
    WRIT_SERVER: served.server.url,
    AGENT_KEY: served.key({ id: "bot", kind: "agent" }),
    PERSON_KEY: served.key({}),
  };
  const output = await outputOf(commandsOfPage(), folder, env);
  expect(output).toMatch(/"attached":false.*"status":"partial".*"gate_id".*"status":"completed".*event: end/s);
  expect(output).not.toContain("urn:writ:fault");
  const again = await outputOf(commandsOfPage(), folder, env);
  expect(again, "its submission may be repeated").toContain('"attached":true');
  expect(served.sent).toEqual(["ana@example.org"]);
  await served.close();
  rmSync(folder, { recursive: true });
});
