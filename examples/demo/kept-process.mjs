import { fork } from "node:child_process";
import { setTimeout as sleep } from "node:timers/promises";

/** A process that is started again whenever it is killed. It ends with this process. */
export class KeptProcess {
  #child = null;
  #stopping = false;
  #ended = Promise.resolve();
  #errors = "";
  pid = null;
  starts = 0;
  kills = 0;

  /** `onOutput` gets each line of its standard error, `onMessage` its messages, `onEnd` how it ended by itself. */
  constructor({ program, args = [], env, restartMs, onOutput, onMessage, onStart, onEnd }) {
    Object.assign(this, { program, args, env, restartMs, onOutput, onMessage, onStart, onEnd });
  }

  start() {
    this.#stopping = false;
    this.starts += 1;
    // A group of its own: Ctrl-C ends this process first, which then ends its children in order.
    const child = fork(this.program, this.args, {
      env: this.env,
      detached: true,
      stdio: ["ignore", "ignore", "pipe", "ipc"],
    });
    this.#child = child;
    this.pid = child.pid;
    this.onStart?.(child.pid);
    let rest = "";
    child.stderr.setEncoding("utf8").on("data", (chunk) => {
      const lines = (rest + chunk).split("\n");
      rest = lines.pop();
      this.#errors = (this.#errors + chunk).slice(-2000);
      for (const line of lines) this.onOutput?.(line);
    });
    child.on("message", (message) => this.onMessage?.(message));
    this.#ended = new Promise((resolve) => {
      child.on("exit", (code, signal) => {
        this.pid = null;
        resolve();
        if (this.#stopping) return;
        if (signal === "SIGKILL") void this.#startAgain();
        else this.onEnd?.(code, problemIn(this.#errors));
      });
    });
  }

  kill() {
    if (this.pid === null) return;
    this.kills += 1;
    this.#child.kill("SIGKILL");
  }

  /** Ends the process: at first with a request, after `patienceMs` with SIGKILL. */
  async stop(patienceMs) {
    this.#stopping = true;
    if (this.pid === null) return;
    this.#child.kill("SIGTERM");
    const ended = await Promise.race([this.#ended.then(() => true), sleep(patienceMs, false, { ref: false })]);
    if (!ended) this.#child.kill("SIGKILL");
    await this.#ended;
  }

  async #startAgain() {
    await sleep(this.restartMs);
    if (!this.#stopping) this.start();
  }
}

/** Returns the line of an output that says what went wrong: that of an error, or else the last one. */
function problemIn(output) {
  const lines = output.trim().split("\n");
  return lines.findLast((line) => /^\w*(?:Error|Fault)\b|^[A-Z_]{5,}: /.test(line)) ?? lines.at(-1);
}
