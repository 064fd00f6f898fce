import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { outreachPlan } from "../outreach/tools.mjs";
import { runFileAgent, untilReached } from "./file-agent.mjs";
import { KeptProcess } from "./kept-process.mjs";

const agentProgram = fileURLToPath(new URL("./support-agent.mjs", import.meta.url));
const professors = ["Ada", "Bo", "Chen", "Dara", "Emre", "Fay", "Goran", "Hana", "Ivo", "Jun"];

/** Starts the scenarios of the demo, and knows what became of each. */
export class Scenarios {
  #client;
  #agent;
  #drafts;
  #onActing;
  #onNote;
  #started = [];
  #agents = [];

  /** `client` reaches the server with the key of an agent; `agent` says how the process of an agent is started. */
  constructor({ client, agent, drafts, onActing, onNote }) {
    this.#client = client;
    this.#agent = agent;
    this.#drafts = drafts;
    this.#onActing = onActing;
    this.#onNote = onNote;
  }

  started() {
    return this.#started;
  }

  /** Six steps, one mail: the server executes them. */
  startOutreach() {
    const number = this.#count("outreach");
    const professor = professors[number % professors.length];
    const plan = outreachPlan(professor);
    const steps = plan.steps.map((step) =>
      step.step_id === "send"
        ? { ...step, payload: { ...step.payload, to: `${professor.toLowerCase()}.${number + 1}@example.org` } }
        : step,
    );
    return this.#submit(
      "outreach",
      { ...plan, intent_id: `outreach:${professor}:${number}`, steps },
      `Mail to ${professor}`,
    );
  }

  /** One payment that times out. Without a verifier, a person settles it. */
  startPayment(tool) {
    const scenario = tool === "invoice.pay" ? "payment" : "wire";
    const invoice = `${scenario === "payment" ? "A" : "B"}-${this.#count(scenario) + 101}`;
    const payload = { invoice, to: "Paper & Co.", cents: 12_500 };
    return this.#submit(scenario, { steps: [{ step_id: "pay", name: tool, payload }] }, `Pay invoice ${invoice}`);
  }

  async #submit(scenario, plan, title) {
    const entry = this.#add(scenario, title);
    const options = { title, requestKey: `${scenario}-${entry.number}` };
    const run = await untilReached(() => this.#client.submit(plan, options));
    entry.run_id = run.run_id;
    void untilReached(() => run.finished()).then(
      ({ status }) => this.#end(entry, status),
      (error) => this.#fail(entry, error.message),
    );
    return { run_id: run.run_id };
  }

  /** An agent that edits files, through the HTTP API. */
  async startFiles() {
    const entry = this.#add("files", "Lower the price of Gold");
    const opened = new Promise((resolve) => {
      const session = `price-list-${entry.number}`;
      const onOpened = (run_id) => {
        entry.run_id = run_id;
        entry.session = session;
        resolve({ run_id });
      };
      void runFileAgent(this.#client, { session, drafts: this.#drafts(), onOpened }).then(
        () => this.#end(entry, "completed"),
        (error) => this.#fail(entry, error.message),
      );
    });
    return Promise.race([opened, sleep(5000, {}, { ref: false })]);
  }

  /** An agent with a model, as a process of its own. */
  startSupport() {
    const entry = this.#add("support", "");
    const order = 41 + entry.number;
    entry.title = `Refund half of order ${order}`;
    const ticket = `ticket-${order}`;
    const { env, settings, restartMs } = this.#agent;
    return new Promise((resolve) => {
      const agent = new KeptProcess({
        program: agentProgram,
        onStart: (pid) => this.#onNote(`The support agent starts as process ${pid}.`),
        env: { ...env, WRIT_DEMO: JSON.stringify({ ...settings, ticket, order }) },
        restartMs,
        onMessage: ({ kind, run_id, text, what }) => {
          if (kind === "acting") this.#onActing(what);
          if (kind === "said") entry.said = text;
          if (kind !== "opened") return;
          Object.assign(entry, { run_id, session: ticket });
          resolve({ run_id });
        },
        onEnd: (code, problem) => {
          this.#agents = this.#agents.filter((each) => each !== agent);
          if (code === 0) this.#end(entry, "completed");
          else this.#fail(entry, problem);
          resolve({});
        },
      });
      this.#agents.push(agent);
      agent.start();
    });
  }

  killAgents() {
    for (const agent of this.#agents) agent.kill();
  }

  async stop() {
    await Promise.all(this.#agents.map((agent) => agent.stop(1000)));
  }

  #count(scenario) {
    return this.#started.filter((entry) => entry.scenario === scenario).length;
  }

  #add(scenario, title) {
    const number = this.#count(scenario) + 1;
    const entry = { scenario, number, title, started_at: Date.now(), run_id: null, session: null, state: "running" };
    this.#started.push(entry);
    return entry;
  }

  #end(entry, state) {
    entry.state = state;
    this.#onNote(`"${entry.title}" has ended: ${state}.`);
  }

  #fail(entry, problem) {
    entry.problem = problem;
    this.#end(entry, "failed");
  }
}
