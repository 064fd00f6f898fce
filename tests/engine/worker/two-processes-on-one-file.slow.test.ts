import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { afterAll, describe, expect, it } from "vitest";
import { CellRunner } from "../../../crash/cell-runner.ts";
import type { OtherProcessTask } from "../../../crash/other-process.ts";
import { worldFile } from "../../../crash/store-files.ts";
import { readWorldEntries } from "../../../crash/world-log.ts";

const runner = await CellRunner.create();

afterAll(() => runner.close());

/** A process on a file that others use, too. */
class Neighbour {
  readonly #child: ChildProcess;
  readonly #lines: AsyncIterator<string>;
  readonly #unasked: Record<string, unknown>[] = [];
  readonly #closed: Promise<unknown>;

  constructor(folder: string, errand: DistributiveOmit<OtherProcessTask, "folder">) {
    const task = JSON.stringify({ ...errand, folder });
    this.#child = runner.start([runner.program("other-process")], { WRIT_CRASH_TASK: task });
    this.#closed = once(this.#child, "close");
    if (this.#child.stdout === null) throw new Error("a neighbour can be heard");
    this.#lines = createInterface({ input: this.#child.stdout })[Symbol.asyncIterator]();
  }

  /** The next thing it says. */
  async says(): Promise<Record<string, unknown>> {
    const { value, done } = await this.#lines.next();
    return done === true ? {} : (JSON.parse(value) as Record<string, unknown>);
  }

  /** The first thing it says about this; what it says before, about other things, is kept for who asks for that. */
  async saysOf(what: string): Promise<unknown> {
    const kept = this.#unasked.findIndex((said) => what in said);
    if (kept >= 0) return this.#unasked.splice(kept, 1)[0]?.[what];
    for (;;) {
      const said = await this.says();
      if (what in said) return said[what];
      if (Object.keys(said).length === 0) throw new Error(`it ended without a word about ${what}`);
      this.#unasked.push(said);
    }
  }

  /** Ends by itself, with everything put away. */
  async endStatuses(): Promise<unknown> {
    const [code, signal] = (await this.#closed) as [number | null, string | null];
    return signal ?? code;
  }

  kill(): Promise<unknown> {
    this.#child.kill("SIGKILL");
    return this.endStatuses();
  }
}

type DistributiveOmit<Type, Key extends PropertyKey> = Type extends unknown ? Omit<Type, Key> : never;

const mailsIn = (folder: string): number =>
  readWorldEntries(worldFile(folder)).filter(({ did }) => did === "send").length;

describe("two processes on one file", () => {
  it("one waits at the gate, the other approves, and one mail is sent", async () => {
    const folder = runner.newFolder();
    const worker = new Neighbour(folder, { do: "work", plan: "gated" });
    const gate = (await worker.saysOf("gate")) as string;
    const approver = new Neighbour(folder, { do: "approve", gate, times: 2 });
    expect([await approver.says(), await approver.says()]).toEqual([{ approved: true }, { approved: "GATE_DECIDED" }]);
    expect(await worker.saysOf("status")).toBe("completed");
    expect([await worker.endStatuses(), await approver.endStatuses(), mailsIn(folder)]).toEqual([0, 0, 1]);
  });

  it("one of two simultaneous approvers gets GATE_DECIDED", async () => {
    const folder = runner.newFolder();
    const worker = new Neighbour(folder, { do: "work", plan: "gated" });
    const gate = (await worker.saysOf("gate")) as string;
    // Two people: one person who approves twice in the same millisecond makes one and the same fact.
    const both = ["ana", "ben"].map((by) => new Neighbour(folder, { do: "approve", gate, times: 1, by }));
    const said = await Promise.all(both.map((approver) => approver.saysOf("approved")));
    expect(said.filter((word) => word === true)).toHaveLength(1);
    expect(said.filter((word) => word === "GATE_DECIDED")).toHaveLength(1);
    expect(await worker.saysOf("status")).toBe("completed");
    expect(mailsIn(folder)).toBe(1);
  });

  it("an approval is noticed while the worker runs another step of the run", async () => {
    const folder = runner.newFolder();
    const worker = new Neighbour(folder, { do: "work", plan: "held" });
    const gate = (await worker.saysOf("gate")) as string;
    const approver = new Neighbour(folder, { do: "approve", gate, times: 1 });
    expect(await approver.saysOf("approved")).toBe(true);
    expect(await worker.saysOf("status")).toBe("completed");
    expect(mailsIn(folder)).toBe(1);
  });

  it("an approval without a live worker takes effect once when a worker starts", async () => {
    const folder = runner.newFolder();
    const killed = new Neighbour(folder, { do: "work", plan: "gated" });
    const gate = (await killed.saysOf("gate")) as string;
    expect(await killed.kill()).toBe("SIGKILL");
    const approver = new Neighbour(folder, { do: "approve", gate, times: 1 });
    expect(await approver.saysOf("approved")).toBe(true);
    expect(mailsIn(folder)).toBe(0);
    const worker = new Neighbour(folder, { do: "work", plan: "gated" });
    expect(await worker.saysOf("status")).toBe("completed");
    expect(mailsIn(folder)).toBe(1);
  });

  it("a second worker works beside the first, and one of them sends the mail", async () => {
    const folder = runner.newFolder();
    const one = new Neighbour(folder, { do: "work", plan: "gated" });
    const gate = (await one.saysOf("gate")) as string;
    const two = new Neighbour(folder, { do: "work", plan: "gated" });
    expect(await two.saysOf("gate")).toBe(gate);
    const approver = new Neighbour(folder, { do: "approve", gate, times: 1 });
    expect(await approver.saysOf("approved")).toBe(true);
    expect([await one.saysOf("status"), await two.saysOf("status")]).toEqual(["completed", "completed"]);
    expect([await one.endStatuses(), await two.endStatuses(), mailsIn(folder)]).toEqual([0, 0, 1]);
  });

  it("a second worker continues the run of a killed one", async () => {
    const folder = runner.newFolder();
    const one = new Neighbour(folder, { do: "work", plan: "endless" });
    await one.saysOf("reading");
    const two = new Neighbour(folder, { do: "work", plan: "endless" });
    await two.saysOf("run");
    await one.kill();
    expect(await two.saysOf("reading")).toBe("no-recipient");
    await two.kill();
  });

  it("one submits a plan and sees its end, though the other executes it", async () => {
    const folder = runner.newFolder();
    const worker = new Neighbour(folder, { do: "work", plan: "endless" });
    expect(await worker.saysOf("reading")).toBe("no-recipient");
    const customer = new Neighbour(folder, { do: "order", plan: "gated" });
    const gate = (await customer.saysOf("gate")) as string;
    const approver = new Neighbour(folder, { do: "approve", gate, times: 1 });
    expect(await customer.saysOf("status")).toBe("completed");
    expect([await customer.endStatuses(), await approver.endStatuses(), mailsIn(folder)]).toEqual([0, 0, 1]);
    await worker.kill();
  });

  it("cancelling from another process stops a running read", async () => {
    const folder = runner.newFolder();
    const worker = new Neighbour(folder, { do: "work", plan: "endless" });
    const run = (await worker.saysOf("run")) as string;
    await worker.saysOf("reading");
    const other = new Neighbour(folder, { do: "cancel", run });
    expect(await other.saysOf("cancelled")).toBe(true);
    expect(await worker.says()).toEqual({ status: "cancelled", steps: { read: { state: "cancelled" } } });
    expect(await worker.endStatuses()).toBe(0);
  });
});
