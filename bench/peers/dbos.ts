import { stepAnswer } from "../workload.ts";
import { type Peer, type PeerAbsence, type PeerEngine, type PeerPlace, stepsPerRun } from "./peer.ts";
import { findPeerPackages } from "./peer-packages.ts";

const library = "@dbos-inc/dbos-sdk";

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

/** A workflow of ten steps, its system database on the server that Writ uses, too. */
export const dbos: Peer = {
  name: "dbos",
  about: "DBOS Transact, a workflow of ten steps",
  store: "postgres",
  durability: "every",
  open: openDbos,
};

async function openDbos(
  folder: string,
  { databaseUrl: systemDatabaseUrl }: PeerPlace,
): Promise<PeerEngine | PeerAbsence> {
  const packages = findPeerPackages(folder, [library]);
  if (packages === null) return { absent: `not installed: ${library}` };
  const { DBOS } = (await packages.load(library)) as DbosLibrary;
  DBOS.setConfig({ name: "bench", systemDatabaseUrl, logLevel: "error", runAdminServer: false });
  const workflow = DBOS.registerWorkflow(
    async () => {
      for (let at = 0; at < stepsPerRun; at += 1)
        await DBOS.runStep(async () => stepAnswer(at), { name: `step-${at}` });
    },
    { name: "bench" },
  );
  await DBOS.launch();
  return { versions: [packages.version(library)], run: () => workflow(), close: () => DBOS.shutdown() };
}
