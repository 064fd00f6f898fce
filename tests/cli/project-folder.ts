import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { repositoryPath } from "../repo/repository-path.ts";

const source = repositoryPath("src", "index.ts");

/** A new directory with a config that sends notes and a plan that sends one. */
export function newProjectFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "writ-cli-"));
  writeFileSync(join(folder, "writ.config.mjs"), config);
  writeFileSync(
    join(folder, "plan.json"),
    JSON.stringify({ steps: [{ step_id: "send", name: "note.send", payload: {} }] }),
  );
  return folder;
}

const config = `
import { appendFileSync } from "node:fs";
import { defineTool } from ${JSON.stringify(source)};

const send = defineTool({
  name: "note.send", effect: "acts", input: { type: "object" }, output: { type: "object" },
  run: async () => {
    appendFileSync(new URL("witness.txt", import.meta.url), "note\\n");
    return {};
  },
});

export default { tools: [send] };
`;
