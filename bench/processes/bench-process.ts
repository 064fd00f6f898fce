import { type ChildProcessByStdio, spawn } from "node:child_process";
import { createInterface } from "node:readline";
import type { Readable, Writable } from "node:stream";
import { fileURLToPath } from "node:url";
import { machineTime, type ProcessReport, type ProcessRole } from "./process-role.ts";

const program = fileURLToPath(new URL("./file-process.js", import.meta.url));

type ReportOf<Type extends ProcessReport["type"]> = Extract<ProcessReport, { readonly type: Type }>;

/** A process of a measured file, and its reports. */
export class BenchProcess {
  readonly #child: ChildProcessByStdio<Writable, Readable, null>;
  readonly reports: ProcessReport[] = [];
  #onReport: () => void = () => {};
  #exit: string | null = null;

  constructor(role: ProcessRole) {
    this.#child = spawn(process.execPath, [program, JSON.stringify(role)], { stdio: ["pipe", "pipe", "inherit"] });
    this.#child.stdin.on("error", () => {}); // The process was killed.
    createInterface({ input: this.#child.stdout }).on("line", (line) => {
      this.reports.push(JSON.parse(line) as ProcessReport);
      this.#onReport();
    });
    this.#child.once("exit", (code, signal) => {
      this.#exit = `${signal ?? code}`;
      this.#onReport();
    });
  }

  /** Starts a process and waits until it is ready. */
  static async start(role: ProcessRole): Promise<BenchProcess> {
    const started = new BenchProcess(role);
    await started.next("ready");
    return started;
  }

  /** Waits for the first report of a type. */
  async next<Type extends ProcessReport["type"]>(type: Type): Promise<ReportOf<Type>> {
    for (;;) {
      const found = this.reports.find((report): report is ReportOf<Type> => report.type === type);
      if (found !== undefined) return found;
      if (this.#exit !== null) throw new Error(`${program} ended with ${this.#exit} before it was ${type}`);
      await new Promise<void>((resolve) => {
        this.#onReport = resolve;
      });
    }
  }

  go(): void {
    this.#child.stdin.write("go\n");
  }

  /** Kills the process and returns the time of the kill. */
  kill(): number {
    const at = machineTime();
    this.#child.kill("SIGKILL");
    return at;
  }
}

/** Calls `use` with processes of these roles, and kills them afterwards. */
export async function withProcesses<Result>(
  roles: readonly ProcessRole[],
  use: (processes: readonly BenchProcess[]) => Promise<Result>,
): Promise<Result> {
  const processes = roles.map((role) => new BenchProcess(role));
  try {
    await Promise.all(processes.map((each) => each.next("ready")));
    return await use(processes);
  } finally {
    for (const each of processes) each.kill();
  }
}
