import { stepAnswer } from "../workload.ts";
import { type Peer, type PeerAbsence, type PeerEngine, stepsPerRun } from "./peer.ts";
import { findPeerPackages } from "./peer-packages.ts";

const library = "@dbos-inc/dbos-sdk";
const urlVariable = "DBOS_SYSTEM_DATABASE_URL";

/** The used part of the library. */
interface DbosLibrary {
  readonly DBOS: {
    setConfig(config: object): void;
    registerWorkflow(workflow: () => Promise<void>, config: { readonly name: string }): () => Promise<void>;
    runStep(step: () => Promise<object>, config: { readonly name: string }): Promise<object>;
    launch(): Promise<void>;
    shutdown(): Promise<void>;
  };
}

/** A workflow of ten steps, its system database in Postgres with its own settings. */
export const dbos: Peer = {
  id: "peer.dbos.postgres",
  about: "DBOS Transact, a workflow of ten steps, system database in Postgres",
  durability: "every",
  open: openDbos,
};

async function openDbos(folder: string): Promise<PeerEngine | PeerAbsence> {
  const packages = findPeerPackages(folder, [library]);
  if (packages === null) return { absent: `not installed: ${library}` };
  const systemDatabaseUrl = process.env[urlVariable];
  if (systemDatabaseUrl === undefined) return { absent: `no Postgres: set ${urlVariable}` };
  const { DBOS } = (await packages.load(library)) as DbosLibrary;
  DBOS.setConfig({ name: "bench", systemDatabaseUrl, logLevel: "error", runAdminServer: false });
  const workflow = DBOS.registerWorkflow(
    async () => {
      for (let at = 0; at < stepsPerRun; at += 1)
        await DBOS.runStep(async () => stepAnswer(at), { name: `step-${at}` });
    },
    { name: "bench" },
  );
  try {
    await DBOS.launch();
  } catch (error) {
    return { absent: `no Postgres at ${urlVariable}: ${error instanceof Error ? error.message : String(error)}` };
  }
  return { versions: [packages.version(library)], run: () => workflow(), close: () => DBOS.shutdown() };
}
