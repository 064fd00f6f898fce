import { answer } from "../workload.ts";
import { type Absent, type Contestant, type Peer, stepsPerRun } from "./contestant.ts";
import { packagesIn } from "./packages.ts";

const library = "@dbos-inc/dbos-sdk";
const variable = "DBOS_SYSTEM_DATABASE_URL";

/** As far as it is used here. */
interface Library {
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
  enter,
};

async function enter(folder: string): Promise<Contestant | Absent> {
  const packages = packagesIn(folder, [library]);
  if (packages === null) return { absent: `not installed: ${library}` };
  const systemDatabaseUrl = process.env[variable];
  if (systemDatabaseUrl === undefined) return { absent: `no Postgres: say where in ${variable}` };
  const { DBOS } = (await packages.load(library)) as Library;
  DBOS.setConfig({ name: "bench", systemDatabaseUrl, logLevel: "error", runAdminServer: false });
  const workflow = DBOS.registerWorkflow(
    async () => {
      for (let at = 0; at < stepsPerRun; at += 1) await DBOS.runStep(async () => answer(at), { name: `step-${at}` });
    },
    { name: "bench" },
  );
  try {
    await DBOS.launch();
  } catch (error) {
    return { absent: `no Postgres at ${variable}: ${error instanceof Error ? error.message : String(error)}` };
  }
  return { versions: [packages.version(library)], run: () => workflow(), close: () => DBOS.shutdown() };
}
