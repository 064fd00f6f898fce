import { chmodSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { connectSqlite } from "../../src/store/sqlite/sqlite-driver.ts";
import { type CliDocument, CliProject } from "./cli-project.ts";

let site: CliProject;
let run: string;
let gate: string;

beforeAll(async () => {
  site = new CliProject();
  const { answer } = await site.json("run", "plan.json");
  run = answer.run_id;
  gate = answer.gates[0]?.gate_id ?? "";
});

afterAll(() => site.clear());

async function refused(...args: readonly string[]): Promise<{ exit: number | null; code: string; message: string }> {
  const { exit, answer } = await site.json(...args);
  return { exit, ...answer.fault };
}

describe("unknown id", () => {
  it.concurrent.each([
    ["GATE_NOT_FOUND", "approve gate_unknown"],
    ["GATE_NOT_FOUND", "reject gate_unknown"],
    ["RUN_NOT_FOUND", "show run_unknown"],
    ["RUN_NOT_FOUND", "events run_unknown"],
    ["RUN_NOT_FOUND", "events run_unknown --follow"],
    ["RUN_NOT_FOUND", "resolve run_unknown send --happened"],
    ["RUN_NOT_FOUND", "resolve run_unknown send --absent"],
    ["RUN_NOT_FOUND", "resolve run_unknown send --undo"],
    ["RUN_NOT_FOUND", "resolve run_unknown send --give-up"],
    ["RUN_NOT_FOUND", "resume run_unknown"],
    ["RUN_NOT_FOUND", "cancel run_unknown"],
    ["RUN_NOT_FOUND", "audit run_unknown"],
    ["RUN_NOT_FOUND", "cost run_unknown"],
  ])("is %s, exit 5, for %s", async (code, line) => {
    expect(await refused(...line.split(" "))).toMatchObject({
      exit: 5,
      code,
      message: expect.stringContaining("unknown"),
    });
  });

  it.concurrent.each(["happened", "absent", "undo", "give-up"])(
    "is STEP_NOT_FOUND when a step is resolved as %s",
    async (verdict) => {
      expect(await refused("resolve", run, "nope", `--${verdict}`)).toMatchObject({ exit: 5, code: "STEP_NOT_FOUND" });
    },
  );

  it("includes ids of another tenant", async () => {
    expect(await refused("show", run, "--tenant", "other")).toMatchObject({ exit: 5, code: "RUN_NOT_FOUND" });
    expect(await refused("approve", gate, "--tenant", "other")).toMatchObject({ exit: 5, code: "GATE_NOT_FOUND" });
  });
});

describe("refused command", () => {
  it("decides a gate only once", async () => {
    const { answer } = await site.json("run", "plan.json");
    const [held] = answer.gates;
    await site.json("approve", held?.gate_id ?? "");
    for (const verb of ["approve", "reject"]) {
      expect(await refused(verb, held?.gate_id ?? "")).toMatchObject({ exit: 2, code: "GATE_DECIDED" });
    }
  });

  it("does not let a proposer approve the own call", async () => {
    expect(await refused("approve", gate, "--as", "agent")).toMatchObject({ exit: 4, code: "AUTH_FORBIDDEN" });
  });

  it("does not settle an act that is not in doubt", async () => {
    expect(await refused("resolve", run, "write", "--absent")).toMatchObject({ exit: 2, code: "NOT_POSSIBLE" });
  });

  it("reports every broken rule of a plan, and records only a refused submission", async () => {
    const ids = async () => ((await site.json("runs")).answer.runs as CliDocument[]).map(({ run_id }) => run_id);
    const before = await ids();
    const steps = [{ step_id: "a", name: "mail.sendd", payload: {}, bindings: { "/x": { step: "gone", path: "" } } }];
    site.write("bad.json", JSON.stringify({ steps, extra: 1 }));
    let named: unknown;
    for (const verb of ["check", "simulate", "run"]) {
      const { exit, answer } = await site.json(verb, "bad.json");
      expect({ exit, fault: answer.fault }).toMatchObject({ exit: 2, fault: { code: "PLAN_INVALID" } });
      const { reasons, run_id } = (answer.fault as unknown as { detail: { reasons: []; run_id?: string } }).detail;
      expect(reasons.length).toBeGreaterThan(1);
      named = run_id;
    }
    expect(await ids()).toEqual([named, ...before]);
  });

  it("refuses a plan file with a duplicate key", async () => {
    site.write("twice.json", `{"steps": [], "steps": []}`);
    expect(await refused("run", "twice.json")).toMatchObject({ exit: 2, code: "PLAN_INVALID" });
  });
});

describe("config with an error", () => {
  it("is reported with the line, and without a stack unless asked", async () => {
    site.write("odd.config.mjs", "export default {\n  tools: [\n};\n");
    const quiet = await site.run("run", "plan.json", "--config", "odd.config.mjs");
    expect(quiet).toMatchObject({ exit: 2, out: "" });
    expect(quiet.err).toMatch(
      /^CONFIG_INVALID: .*odd\.config\.mjs cannot be loaded: .*\(line 3\); fix it and try again\n$/,
    );
    const loud = await site.run("run", "plan.json", "--config", "odd.config.mjs", "--debug");
    expect(loud.err).toMatch(/SyntaxError/);
  });
});

describe("unusable store", () => {
  it("is a path in a directory that does not exist", async () => {
    const fault = await refused("run", "plan.json", "--store", "gone/writ.db");
    expect(fault).toMatchObject({ exit: 6, code: "STORE_UNUSABLE", message: expect.stringContaining("gone") });
  });

  it("is a file of another format", async () => {
    site.write("notes.txt", "this text file is not a database\n".repeat(100));
    for (const words of [["run", "plan.json"], ["runs"], ["show", run]]) {
      expect(await refused(...words, "--store", "notes.txt")).toMatchObject({ exit: 6, code: "STORE_UNUSABLE" });
    }
  });

  it("is a directory", async () => {
    expect(await refused("run", "plan.json", "--store", ".")).toMatchObject({ exit: 6, code: "STORE_UNUSABLE" });
  });

  it("is a path where this user may not write", async () => {
    const folder = join(site.folder, "locked");
    mkdirSync(folder);
    chmodSync(folder, 0o555);
    chmodSync(site.folder, 0o755);
    const otherUser = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {};
    const { exit, out } = await site.startAs(otherUser, "run", "plan.json", "--store", "locked/writ.db", "--json")
      .ended;
    expect(exit).toBe(6);
    expect(JSON.parse(out)).toMatchObject({ fault: { code: "STORE_READ_ONLY" } });
  });

  it("is a store with a row that no event explains, and the fault names the row", async () => {
    const changed = new CliProject();
    try {
      await changed.json("run", "plan.json");
      const db = connectSqlite(join(changed.folder, "writ.db"));
      db.exec("insert into outcome select tenant, 'forged', version, row from run limit 1");
      db.close();
      const { exit, answer } = await changed.json("audit");
      expect(exit).toBe(6);
      expect(answer.fault.message).toContain("the outcome row forged");
    } finally {
      await changed.clear();
    }
  });

  it("is a store that was changed after it was written", async () => {
    const changed = new CliProject();
    try {
      await changed.json("run", "plan.json");
      expect(await changed.json("audit")).toMatchObject({ exit: 0, answer: { broken: [] } });
      tamper(join(changed.folder, "writ.db"));
      const { exit, answer } = await changed.json("audit");
      expect({ exit, code: answer.fault.code }).toEqual({ exit: 6, code: "CHAIN_BROKEN" });
    } finally {
      await changed.clear();
    }
  });
});

/** Changes a word in the recorded events. */
function tamper(path: string): void {
  const db = connectSqlite(path);
  db.exec(`update event set body = replace(body, 'example.org', 'example.net')`);
  db.close();
}
