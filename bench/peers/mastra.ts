import { stepAnswer } from "../workload.ts";
import { type Peer, type PeerAbsence, type PeerEngine, type PeerPlace, stepsPerRun } from "./peer.ts";
import { findPeerPackages } from "./peer-packages.ts";

const library = "@mastra/core";
const storeLibrary = "@mastra/libsql";
const schemaLibrary = "zod";

/** The used parts of the libraries. */
interface MastraLibrary {
  readonly Mastra: new (options: object) => { getWorkflow(name: string): Workflow };
}

interface WorkflowLibrary {
  createStep(step: object): unknown;
  createWorkflow(options: object): Workflow;
}

interface Workflow {
  then(step: unknown): Workflow;
  commit(): Workflow;
  createRun(): Promise<{ start(options: { readonly inputData: object }): Promise<{ readonly status: string }> }>;
}

interface StoreLibrary {
  readonly LibSQLStore: new (options: object) => unknown;
}

interface SchemaLibrary {
  readonly z: { any(): unknown };
}

/** A workflow of ten steps; the snapshot of a run is stored after each step. */
export const mastra: Peer = {
  name: "mastra",
  about: "Mastra, a workflow of ten steps, LibSQL store, write-ahead log not synced",
  store: "sqlite",
  durability: "process",
  node: 22,
  open: openMastra,
};

async function openMastra(folder: string, { file }: PeerPlace): Promise<PeerEngine | PeerAbsence> {
  const packages = findPeerPackages(folder, [library, `${library}/workflows`, storeLibrary, schemaLibrary]);
  if (packages === null) return { absent: `not installed: ${library}, ${storeLibrary}, ${schemaLibrary}` };
  const { Mastra } = (await packages.load(library)) as MastraLibrary;
  const { createStep, createWorkflow } = (await packages.load(`${library}/workflows`)) as WorkflowLibrary;
  const { LibSQLStore } = (await packages.load(storeLibrary)) as StoreLibrary;
  const { z } = (await packages.load(schemaLibrary)) as SchemaLibrary;
  const schemas = { inputSchema: z.any(), outputSchema: z.any() };
  let chain = createWorkflow({ id: "bench", ...schemas });
  for (let at = 0; at < stepsPerRun; at += 1)
    chain = chain.then(createStep({ id: `step-${at}`, ...schemas, execute: async () => stepAnswer(at) }));
  const storage = new LibSQLStore({ id: "bench", url: `file:${file}` });
  const workflow = new Mastra({ workflows: { bench: chain.commit() }, storage, logger: false }).getWorkflow("bench");
  return {
    versions: [library, storeLibrary].map(packages.version),
    run: async () => {
      const { status } = await (await workflow.createRun()).start({ inputData: {} });
      if (status !== "success") throw new Error(`a run of Mastra is ${status}`);
    },
    close: async () => {},
  };
}
