import { answer } from "../workload.ts";
import { type Absent, type Contestant, type Peer, stepsPerRun } from "./contestant.ts";
import { packagesIn } from "./packages.ts";

const library = "@langchain/langgraph";
const saver = "@langchain/langgraph-checkpoint-sqlite";

/** As far as it is used here. */
interface Library {
  readonly StateGraph: new (state: unknown) => Graph;
  readonly Annotation: (() => unknown) & { Root(channels: Readonly<Record<string, unknown>>): unknown };
  readonly START: string;
  readonly END: string;
}

interface Graph {
  addNode(name: string, work: () => Promise<object>): Graph;
  addEdge(from: string, to: string): Graph;
  compile(options: { readonly checkpointer: unknown }): {
    invoke(input: object, config: object): Promise<unknown>;
  };
}

interface Saver {
  readonly SqliteSaver: { fromConnString(file: string): { readonly db: { close(): void } } };
}

/** A graph of ten nodes in a row whose state is the last answer, each checkpoint written before the next node runs. */
export const langgraph: Peer = {
  id: "peer.langgraph.sqlite",
  about: "LangGraph JS, a graph of ten nodes, SQLite checkpointer, durability `sync`, write-ahead log not synced",
  durability: "process",
  enter,
};

async function enter(folder: string, file: string): Promise<Contestant | Absent> {
  const packages = packagesIn(folder, [library, saver]);
  if (packages === null) return { absent: `not installed: ${library}, ${saver}` };
  const { StateGraph, Annotation, START, END } = (await packages.load(library)) as Library;
  const { SqliteSaver } = (await packages.load(saver)) as Saver;
  const checkpointer = SqliteSaver.fromConnString(file);
  const nodes = Array.from({ length: stepsPerRun }, (_, at) => `step-${at}`);
  let graph = new StateGraph(Annotation.Root({ last: Annotation() }));
  for (const [at, node] of nodes.entries()) graph = graph.addNode(node, async () => ({ last: answer(at) }));
  for (const [at, node] of nodes.entries()) graph = graph.addEdge(nodes[at - 1] ?? START, node);
  const compiled = graph.addEdge(nodes.at(-1) ?? START, END).compile({ checkpointer });
  let runs = 0;
  return {
    versions: [library, saver].map(packages.version),
    run: async () => {
      runs += 1;
      await compiled.invoke({ last: null }, { configurable: { thread_id: `run-${runs}` }, durability: "sync" });
    },
    close: async () => checkpointer.db.close(),
  };
}
