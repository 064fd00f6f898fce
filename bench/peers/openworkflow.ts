import { stepAnswer } from "../workload.ts";
import { type Peer, type PeerAbsence, type PeerEngine, type PeerPlace, stepsPerRun } from "./peer.ts";
import { findPeerPackages } from "./peer-packages.ts";

const library = "openworkflow";
const storeLibrary = "openworkflow/sqlite";

/** The used parts of the library. */
interface OpenWorkflowLibrary {
  readonly OpenWorkflow: new (options: {
    readonly backend: Backend;
  }) => {
    defineWorkflow(
      spec: { readonly name: string },
      work: (given: { readonly step: Steps }) => Promise<object>,
    ): { run(): Promise<{ readonly workflowRun: { readonly id: string } }> };
    newWorker(options: { readonly concurrency: number }): { tick(): Promise<number>; stop(): Promise<void> };
  };
}

interface Steps {
  run(options: { readonly name: string }, work: () => Promise<object>): Promise<object>;
}

interface Backend {
  completeWorkflowRun(given: { readonly workflowRunId: string }): Promise<unknown>;
  stop(): Promise<void>;
}

interface StoreLibrary {
  readonly BackendSqlite: { connect(file: string): Backend };
}

/** A workflow of ten steps. Its worker looks for runs at once and its end is seen at once, so that no wait counts. */
export const openworkflow: Peer = {
  name: "openworkflow",
  about: "openworkflow, a workflow of ten steps, SQLite, every transaction synced, without the waits of its polling",
  store: "sqlite",
  durability: "every",
  node: 22,
  open: openOpenWorkflow,
};

async function openOpenWorkflow(folder: string, { file }: PeerPlace): Promise<PeerEngine | PeerAbsence> {
  const packages = findPeerPackages(folder, [library, storeLibrary]);
  if (packages === null) return { absent: `not installed: ${library}` };
  const { OpenWorkflow } = (await packages.load(library)) as OpenWorkflowLibrary;
  const backend = ((await packages.load(storeLibrary)) as StoreLibrary).BackendSqlite.connect(file);
  const ended = watchEnds(backend);
  const client = new OpenWorkflow({ backend });
  const workflow = client.defineWorkflow({ name: "bench" }, async ({ step }) => {
    let last: object = {};
    for (let at = 0; at < stepsPerRun; at += 1)
      last = await step.run({ name: `step-${at}` }, async () => stepAnswer(at));
    return last;
  });
  const worker = client.newWorker({ concurrency: 100 });
  return {
    versions: [packages.version(library)],
    run: async () => {
      const { workflowRun } = await workflow.run();
      const end = ended(workflowRun.id);
      await worker.tick();
      await end;
    },
    close: async () => {
      await worker.stop();
      await backend.stop();
    },
  };
}

/** Returns a function that waits until the backend has stored the end of a run. */
function watchEnds(backend: Backend): (run: string) => Promise<void> {
  const waiting = new Map<string, () => void>();
  const complete = backend.completeWorkflowRun.bind(backend);
  backend.completeWorkflowRun = async (given) => {
    const stored = await complete(given);
    waiting.get(given.workflowRunId)?.();
    waiting.delete(given.workflowRunId);
    return stored;
  };
  return (run) => new Promise((resolve) => waiting.set(run, resolve));
}
