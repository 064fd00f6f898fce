import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { installedVersion } from "../../src/peer-packages/installed-version.ts";

function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "writ-peers-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

function install(folder: string, name: string, manifest: string): void {
  mkdirSync(join(folder, "node_modules", name), { recursive: true });
  writeFileSync(join(folder, "node_modules", name, "package.json"), manifest);
}

describe("the installed version of a package", () => {
  it.each([
    "ai",
    "openai",
    "@anthropic-ai/sdk",
    "@anthropic-ai/claude-agent-sdk",
    "@modelcontextprotocol/client",
    "pg",
  ])("of %s is that of the nearest folder of the program", (name) => {
    const folder = newFolder();
    const inner = join(folder, "app", "src");
    mkdirSync(inner, { recursive: true });
    expect(installedVersion(name, [inner])).toBeNull();
    install(folder, name, '{ "version": "8.0.0" }');
    expect(installedVersion(name, [inner])).toBe("8.0.0");
    install(join(folder, "app"), name, '{ "version": "9.0.0" }');
    expect(installedVersion(name, [inner])).toBe("9.0.0");
  });

  it("is unknown if its manifest is broken", () => {
    const folder = newFolder();
    install(folder, "ai", "{");
    expect(installedVersion("ai", [folder])).toBeNull();
  });
});
