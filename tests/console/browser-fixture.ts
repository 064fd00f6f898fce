import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { BrowserContext, BrowserContextOptions, Page } from "playwright-core";
import { z } from "zod";
import type { Engine, PrincipalInput } from "../../src/engine/api/engine-api.ts";
import { createEngine } from "../../src/engine/engine.ts";
import { scopes } from "../../src/http-api/api-route.ts";
import { defineSlice } from "../../src/schema/define-slice.ts";
import { defineTool } from "../../src/schema/define-tool.ts";
import { BrowserLogins } from "../../src/server/browser-logins.ts";
import { ConsoleFiles } from "../../src/server/console-files.ts";
import { type ApiServer, serveApi } from "../../src/server/serve-api.ts";
import { sqlite } from "../../src/store/sqlite/sqlite-store.ts";
import { repositoryPath } from "../repo/repository-path.ts";
import { consoleBrowser } from "./console-browser.ts";

export const ana = { id: "ana", kind: "person", tenant: "acme" } as const satisfies PrincipalInput;
export const bea = { id: "bea", kind: "person", tenant: "acme" } as const satisfies PrincipalInput;
const robot = { id: "robot", kind: "agent", tenant: "acme" } as const satisfies PrincipalInput;

const notes = defineSlice({ name: "notes", shape: "map", entry: z.object({ text: z.string() }) });

/** Tools of the engine under test. `mail.send` and `payment.charge` are held; a charge never says whether it happened. */
function fixtureTools(sent: unknown[]) {
  return [
    defineTool({
      name: "mail.send",
      effect: "acts",
      description: "Sends a mail.",
      input: z.object({ to: z.string(), subject: z.string(), body: z.string() }),
      output: z.object({ sent: z.boolean() }),
      preview: async () => ({ sent: true }),
      cost: () => ({ usd_micros: 1200 }),
      run: async (input) => {
        sent.push(input);
        return { sent: true };
      },
    }),
    defineTool({
      name: "payment.charge",
      effect: "acts",
      description: "Charges a card.",
      input: z.object({ card: z.string(), cents: z.number().int().positive() }),
      output: z.object({ id: z.string() }),
      run: async () => {
        throw new Error("the connection was closed before the answer");
      },
    }),
    defineTool({
      name: "notes.write",
      effect: "writes",
      description: "Keeps a note in the state of the project.",
      input: z.object({ key: z.string(), text: z.string() }),
      output: z.object({ kept: z.string() }),
      run: async ({ key, text }, { slice }) => {
        slice(notes).set(key, { text });
        return { kept: key };
      },
    }),
    defineTool({
      name: "report.read",
      effect: "reads",
      description: "Reads a report.",
      input: z.object({ name: z.string() }),
      output: z.object({ text: z.string() }),
      run: async ({ name }) => ({ text: `report of ${name}` }),
    }),
  ];
}

export interface ConsoleUnderTest {
  readonly engine: Engine;
  readonly url: string;
  /** The inputs of the mails that were sent. */
  readonly sent: unknown[];
  /** The time of logins: moving it ends sessions. */
  time: number;
  /** Returns a link that logs a person in, at a page of the console. */
  link(path?: string, person?: PrincipalInput): string;
  /** Opens a tab that is logged in. Errors of the page fail the test when the console is closed. */
  open(path?: string, options?: BrowserContextOptions & { readonly person?: PrincipalInput }): Promise<Page>;
  /** A call of the tool that waits for a person. Returns the gate. */
  hold(input?: object, tool?: string): Promise<{ readonly gate_id: string; readonly run_id: string }>;
  /** A charge that may or may not have happened. Returns its run. */
  doubt(input?: object): Promise<{ readonly run_id: string; readonly step_id: string }>;
  /** Stops the server and its engine; `start` continues on the same store and port. */
  stop(): Promise<void>;
  start(): Promise<void>;
  close(): Promise<void>;
}

/** Serves the built console for an engine with a SQLite store. */
export async function serveConsole(given: Partial<Parameters<typeof createEngine>[0]> = {}): Promise<ConsoleUnderTest> {
  const files = new ConsoleFiles(repositoryPath("dist", "console"));
  if (files.buildId === null) fail("the console was not built: run node scripts/build.js --console");
  const folder = mkdtempSync(join(tmpdir(), "writ-console-"));
  const sent: unknown[] = [];
  const problems: string[] = [];
  const started = Date.now();
  const now = () => Date.now() - started + console.time;
  const browsers = new BrowserLogins(new Uint8Array(32).fill(7), now);
  let running: { readonly engine: Engine; readonly server: ApiServer } | null = null;
  const live = () => running ?? fail("the server is stopped");
  const start = async (port: number) => {
    const store = sqlite(join(folder, "writ.db"));
    const engine = await createEngine({ store, tools: fixtureTools(sent), slices: [notes], ...given });
    const server = await serveApi({
      engine,
      port,
      host: "127.0.0.1",
      authenticators: [browsers.authenticate],
      browsers,
      console: files,
      isReady: async () => true,
      metrics: () => "",
      now,
      onBug: (error) => problems.push(`server: ${String(error)}`),
    });
    running = { engine, server };
  };
  const stop = async () => {
    const { engine, server } = live();
    running = null;
    await server.close();
    await engine.close();
  };
  await start(0);
  const { port, url } = live().server;
  const tabs = new Set<BrowserContext>();
  const console: ConsoleUnderTest = {
    get engine() {
      return live().engine;
    },
    url,
    sent,
    time: started,
    link: (path = "/", person = ana) => `${url}${path}#link=${browsers.makeLink({ principal: person, scopes })}`,
    open: async (path, { person, ...options } = {}) =>
      openPage(await newContext(options, tabs, problems), console.link(path, person)),
    hold: (input, tool) => holdCall(live().engine, input, tool),
    doubt: (input) => makeDoubt(live().engine, input),
    stop,
    start: () => start(port),
    close: async () => {
      await Promise.all([...tabs].map((context) => context.close()));
      if (running !== null) await stop();
      rmSync(folder, { recursive: true, force: true });
      if (problems.length > 0) fail(`the console had problems:\n${problems.join("\n")}`);
    },
  };
  return console;
}

function fail(message: string): never {
  throw new Error(message);
}

async function openPage(context: BrowserContext, link: string): Promise<Page> {
  const page = await context.newPage();
  await page.goto(link);
  await page.locator("main h1").first().waitFor();
  return page;
}

async function newContext(
  options: BrowserContextOptions,
  tabs: Set<BrowserContext>,
  problems: string[],
): Promise<BrowserContext> {
  const browser = await consoleBrowser();
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, locale: "en-GB", ...options });
  tabs.add(context);
  context.setDefaultTimeout(60_000);
  context.on("weberror", (error) => problems.push(`page: ${error.error().stack ?? error.error().message}`));
  context.on("console", (message) => {
    if (/content security policy/i.test(message.text())) problems.push(`page: ${message.text()}`);
  });
  return context;
}

let calls = 0;

async function holdCall(engine: Engine, input?: object, tool = "mail.send") {
  calls += 1;
  const whole = tool === "mail.send" ? { to: "li@example.org", subject: `mail ${calls}`, body: "Hello" } : {};
  const { run_id, result } = await engine.call(tool, { ...whole, ...input }, { principal: robot });
  const gate_id = result.gates[0]?.gate_id;
  if (gate_id === undefined) throw new Error(`the call of ${tool} was not held: ${result.next}`);
  return { gate_id, run_id };
}

async function makeDoubt(engine: Engine, input?: object) {
  const charge = { card: "4242", cents: 100 + calls, ...input };
  const { gate_id, run_id } = await holdCall(engine, charge, "payment.charge");
  await engine.approve(gate_id, { principal: bea });
  const { steps } = await (await engine.run(run_id, { principal: bea })).result();
  const doubtful = Object.entries(steps).find(([, { state }]) => state === "in_doubt");
  if (doubtful === undefined) throw new Error(`the charge is not in doubt: ${JSON.stringify(steps)}`);
  return { run_id, step_id: doubtful[0] };
}
