import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { repositoryPath } from "./repository-path.ts";

const manifest = JSON.parse(readFileSync(repositoryPath("package.json"), "utf8")) as {
  readonly dependencies: Readonly<Record<string, string>>;
  readonly peerDependencies: Readonly<Record<string, string>>;
};

const govern = `
import { createEngine, agent } from "writ";
import { memory } from "writ/memory";
import { govern } from "writ/agents";
const engine = await createEngine({ store: memory(), tools: [] });
const governed = await govern({ engine, session: "s", principal: agent("bot", "t") });
`;
const adapter = (door: string, name: string, more = "") =>
  `${govern}\nimport { ${name} } from "writ/${door}";\nawait ${name}(governed${more});\nawait engine.close();`;
const gateway = `
import { createEngine, agent } from "writ";
import { memory } from "writ/memory";
import { mcpGateway, mcpPinSlice } from "writ/mcp";
const engine = await createEngine({ store: memory(), tools: [], slices: [mcpPinSlice] });
const servers = { x: { command: "true" } };
`;

/** For each package that a program installs itself: a program that uses its door. */
const programs: Readonly<Record<string, string>> = {
  ai: adapter("ai-sdk", "forAiSdk"),
  openai: adapter("openai", "forOpenAI", ", {}"),
  "@anthropic-ai/sdk": adapter("anthropic", "forAnthropic", ", {}"),
  "@anthropic-ai/claude-agent-sdk": adapter("claude-agent-sdk", "forClaudeAgent"),
  "@modelcontextprotocol/server": `${gateway}\nawait mcpGateway({ engine, servers, principal: agent("bot", "t") });`,
  "@modelcontextprotocol/client": `${gateway}
const onNote = (text) => console.error(text);
const { server } = await mcpGateway({ engine, servers, principal: agent("bot", "t"), onNote });
const { InMemoryTransport } = await import("@modelcontextprotocol/server");
const [near, far] = InMemoryTransport.createLinkedPair();
await server().connect(far);
const answered = new Promise((resolve) => { near.onmessage = ({ id }) => id === 2 && resolve(); });
await near.start();
const clientInfo = { name: "c", version: "1" };
const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo };
await near.send({ jsonrpc: "2.0", id: 1, method: "initialize", params });
await near.send({ jsonrpc: "2.0", id: 2, method: "tools/list" });
await answered;
await engine.close();`,
  "@opentelemetry/api": `import { otel } from "writ/otel";\notel();`,
  "@photostructure/sqlite": `import { sqlite } from "writ/sqlite";\nawait sqlite("writ.db");`,
  pg: `import { postgres } from "writ/postgres";\nawait postgres("postgres://127.0.0.1:1/none");`,
  nodemailer: `
import { writeFileSync } from "node:fs";
import { spawnSync } from "node:child_process";
const recipient = { email: "a@example.org", from: "b@example.org", smtp: { env: "SMTP" }, tenant: "t" };
const notify = { url: "http://127.0.0.1:1", recipients: [recipient] };
writeFileSync("writ.config.mjs", "export default " + JSON.stringify({ store: "notify.db", tools: [], notify }));
const env = { ...process.env, SMTP: "smtp://127.0.0.1:1" };
const args = ["node_modules/writ/dist/cli.js", "serve", "--port", "0"];
console.log(spawnSync(process.execPath, args, { env, encoding: "utf8", timeout: 20_000 }).stderr);`,
};

/** The packages that another one needs to be there, so that the program reaches its door. */
const beside: Readonly<Record<string, readonly string[]>> = {
  "@modelcontextprotocol/client": ["@modelcontextprotocol/server"],
  nodemailer: ["@photostructure/sqlite"],
};

let folder = "";
const packages = () => join(folder, "node_modules");

function link(name: string): void {
  mkdirSync(dirname(join(packages(), name)), { recursive: true });
  symlinkSync(repositoryPath("node_modules", name), join(packages(), name), "dir");
}

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "writ-peer-doors-"));
  mkdirSync(join(packages(), "writ"), { recursive: true });
  cpSync(repositoryPath("dist"), join(packages(), "writ", "dist"), { recursive: true });
  cpSync(repositoryPath("package.json"), join(packages(), "writ", "package.json"));
  for (const name of Object.keys(manifest.dependencies)) link(name);
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Runs the program of a door with this version of its package, or without the package. */
function said(name: string, version: string | null): string {
  const own = join(packages(), name);
  for (const needed of beside[name] ?? []) link(needed);
  if (version !== null) {
    mkdirSync(own, { recursive: true });
    writeFileSync(join(own, "package.json"), JSON.stringify({ name, version, main: "index.js" }));
    writeFileSync(join(own, "index.js"), readFileSync(repositoryPath("tests", "repo", "any-export.cjs"), "utf8"));
  }
  try {
    const input = programs[name] ?? "";
    const options = { cwd: folder, input, encoding: "utf8", timeout: 60_000 } as const;
    const { stdout, stderr } = spawnSync(process.execPath, ["--input-type=module"], options);
    return `${stdout}${stderr}`;
  } finally {
    for (const used of [name, ...(beside[name] ?? [])])
      rmSync(join(packages(), used), { recursive: true, force: true });
  }
}

// Node 24 has a driver of its own, so the store does not need the package there.
const needed = (name: string) => name !== "@photostructure/sqlite" || Number(process.versions.node.split(".")[0]) < 24;

describe.each(Object.keys(manifest.peerDependencies).filter(needed))("the door of %s", (name) => {
  const escaped = name.replaceAll(/[.*+?^${}()|[\]\\/]/gu, "\\$&");

  it("names the package in one sentence if it is missing", () => {
    const expected = `(needs the package ${escaped}\\b|run: npm install ${escaped}\\b|Cannot find package '${escaped}')`;
    expect(said(name, null)).toMatch(new RegExp(expected));
  });

  it("names the package and its version in one sentence if its major is not tested", () => {
    const sentence = new RegExp(`is tested with ${escaped} [^;]*, and 99\\.0\\.0 is installed; run: npm install`);
    expect(said(name, "99.0.0")).toMatch(sentence);
  });
});

describe("the doors", () => {
  it("are all tried: each package that a program installs has one", () => {
    expect(Object.keys(programs).sort()).toEqual(Object.keys(manifest.peerDependencies).sort());
  });
});
