import { execFileSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { client } from "writ/client";
import { startScriptedModel } from "../support-agent/scripted-model.mjs";
import { modelFromEnvironment } from "./chosen-model.mjs";
import { startControlServer } from "./control-server.mjs";
import { KeptProcess } from "./kept-process.mjs";
import { startOutsideWorld } from "./outside-world.mjs";
import { filesNow, writeFirstFiles } from "./price-list.mjs";
import { Scenarios } from "./scenarios.mjs";

const program = fileURLToPath(new URL("../../dist/cli.js", import.meta.url));
const config = fileURLToPath(new URL("./writ.config.mjs", import.meta.url));
const maxFailedStarts = 3;
const historyLength = 30;

/** How long the outside world takes, in milliseconds: long enough that a person can kill the server meanwhile. */
export const usualTimes = { answerMs: 8000, currentAfterMs: 6500, modelMs: 900, restartMs: 1500, patienceMs: 3000 };

/** For programs, which do not need time to press a button. */
export const shortTimes = { answerMs: 2500, currentAfterMs: 300, modelMs: 20, restartMs: 100, patienceMs: 3000 };

/**
 * Keeps the server of the demo and its agents alive, and runs the world outside of Writ that they act on. `onLink` gets
 * a link for the browser after each start of the server, `onNote` a sentence about each event.
 */
export async function startSupervisor({ folder, port, env, times, onLink, onNote }) {
  const supervisor = new Supervisor({ times, onLink, onNote });
  await supervisor.open(folder, port, env);
  return supervisor;
}

class Supervisor {
  #times;
  #onLink;
  #onNote;
  #world;
  #tree;
  #control;
  #server;
  #scenarios;
  #scriptedModel = null;
  #model;
  #history = [];
  /** The effect that has just happened and whose sender waits for the answer, or null. */
  #acting = null;
  #isArmed = false;
  #failedStarts = 0;
  #isUp = false;

  constructor({ times, onLink, onNote }) {
    this.#times = times;
    this.#onLink = onLink;
    this.#onNote = onNote;
  }

  async open(folder, port, env) {
    this.#tree = join(folder, "price-list");
    mkdirSync(this.#tree, { recursive: true });
    writeFirstFiles(this.#tree);
    const { answerMs, currentAfterMs, modelMs } = this.#times;
    const onEffect = (what) => this.#onEffect(what, what === "invoice" ? 4000 : answerMs);
    this.#world = await startOutsideWorld(folder, { answerMs, currentAfterMs, onEffect });
    this.#model = modelFromEnvironment(env) ?? (await this.#scripted(modelMs));
    const secret = randomBytes(32).toString("base64url");
    this.#control = await startControlServer(secret, { state: () => this.state(), actions: this.#actions() });
    const store = join(folder, "writ.db");
    const keys = join(folder, "keys.json");
    // The server needs no key of a model.
    const { ANTHROPIC_API_KEY: _anthropic, OPENAI_API_KEY: _openai, ...others } = env;
    const shared = { store, bank: this.#world.bank, answerMs };
    this.#server = new KeptProcess({
      program,
      args: ["serve", "--config", config, "--port", String(port), "--keys", keys, "--as", "you", "--tenant", "demo"],
      env: { ...others, WRIT_DEMO: JSON.stringify(this.#serverSettings(store, secret)) },
      restartMs: this.#times.restartMs,
      onOutput: (line) => this.#readOutput(line),
      onStart: (pid) => this.#note(`The server starts as process ${pid}.`),
      onEnd: (code, problem) => this.#startAfterFailure(code, problem),
    });
    this.#scenarios = new Scenarios({
      client: client({ url: `http://127.0.0.1:${port}`, token: addKey(keys) }),
      agent: { env: others, settings: { ...shared, model: this.#model }, restartMs: this.#times.restartMs },
      drafts: () => this.#drafts(),
      onActing: (what) => this.#onEffect(what, answerMs),
      onNote: (text) => this.#note(text),
    });
    this.#server.start();
  }

  #serverSettings(store, secret) {
    const { mailbox, smtpPort, payments } = this.#world;
    return { store, mailbox, smtpPort, payments, tree: this.#tree, supervisor: { url: this.#control.url, secret } };
  }

  async #scripted(delayMs) {
    this.#scriptedModel = await startScriptedModel({ delayMs, toolName: (name) => name.replaceAll(".", "_") });
    const url = this.#scriptedModel.url.replace("/chat/completions", "");
    return { kind: "scripted", name: "scripted", url, key: "none" };
  }

  /** Everything that the page of the demo shows. It contains no secret. */
  state() {
    return {
      server: { pid: this.#server.pid, starts: this.#server.starts, kills: this.#server.kills, is_up: this.#isUp },
      model: { kind: this.#model.kind, name: this.#model.name },
      acting: this.#acting,
      is_armed: this.#isArmed,
      ...this.#world.effects(),
      files: filesNow(this.#tree),
      started: this.#scenarios.started(),
      history: this.#history,
    };
  }

  #actions() {
    return {
      outreach: () => this.#scenarios.startOutreach(),
      support: () => this.#scenarios.startSupport(),
      files: () => this.#scenarios.startFiles(),
      payment: () => this.#scenarios.startPayment("invoice.pay"),
      wire: () => this.#scenarios.startPayment("invoice.pay_by_wire"),
      arm: () => this.#arm(true),
      disarm: () => this.#arm(false),
      // The answer leaves before the server that passes it on is killed.
      kill: () => void setTimeout(() => this.kill("You killed"), 100),
    };
  }

  #arm(isArmed) {
    this.#isArmed = isArmed;
    return {};
  }

  #onEffect(what, forMs) {
    const texts = {
      mail: "A mail has arrived, and its sender has no answer yet.",
      payment: "The bank has paid, and the agent has no answer yet.",
      invoice: "The payment service has booked a payment, and will not answer.",
    };
    this.#note(texts[what]);
    const acting = { what, since: Date.now(), until: Date.now() + forMs };
    this.#acting = acting;
    setTimeout(() => {
      if (this.#acting === acting) this.#acting = null;
    }, forMs).unref();
    if (this.#isArmed) this.kill("At this moment the supervisor kills");
  }

  /** Kills the server and the agents that run, as a power cut would. They start again. */
  kill(who) {
    this.#isArmed = false;
    this.#acting = null;
    this.#isUp = false;
    this.#note(`${who} the server (process ${this.#server.pid}) with SIGKILL.`);
    this.#scenarios.killAgents();
    this.#server.kill();
  }

  #readOutput(line) {
    const link = /^open (http\S+)$/.exec(line)?.[1];
    if (link === undefined) return;
    this.#isUp = true;
    this.#failedStarts = 0;
    this.#note(this.#server.starts === 1 ? "The server is up." : "The server is up again, with the same record.");
    this.#onLink(link, this.#server.starts);
  }

  async #startAfterFailure(code, problem) {
    this.#isUp = false;
    this.#failedStarts += 1;
    this.#note(`The server ended with ${code}: ${problem}`);
    if (this.#failedStarts >= maxFailedStarts) return this.#onLink(null, this.#server.starts);
    await sleep(this.#times.restartMs);
    this.#server.start();
  }

  #drafts() {
    return filesNow(this.#tree).flatMap(({ path, now }) => (path.startsWith("drafts/") && now !== null ? [path] : []));
  }

  #note(text) {
    this.#history = [...this.#history, { at: Date.now(), text }].slice(-historyLength);
    this.#onNote(text);
  }

  /** Ends every process and every server of the demo. */
  async stop() {
    await Promise.all([this.#server.stop(this.#times.patienceMs), this.#scenarios.stop()]);
    await Promise.all([this.#control.close(), this.#world.close(), this.#scriptedModel?.close()]);
  }
}

/** Adds the key of the agents that use the HTTP API. It may not decide. */
function addKey(keys) {
  const args = ["keys", "add", "demo-agent", "--scope", "read", "--scope", "submit", "--tenant", "demo"];
  const answer = execFileSync(process.execPath, [program, ...args, "--keys", keys, "--json"], { encoding: "utf8" });
  return JSON.parse(answer).key;
}
