import { stepAnswer } from "../workload.ts";
import { type Peer, type PeerAbsence, type PeerEngine, stepsPerRun } from "./peer.ts";
import { findPeerPackages } from "./peer-packages.ts";

const library = "@langchain/langgraph";
const saverLibrary = "@langchain/langgraph-checkpoint-sqlite";

/** The used part of the library. */
interface LangGraphLibrary {
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
  open: openLangGraph,
};

async function openLangGraph(folder: string, file: string): Promise<PeerEngine | PeerAbsence> {
  const packages = findPeerPackages(folder, [library, saverLibrary]);
  if (packages === null) return { absent: `not installed: ${library}, ${saverLibrary}` };
  const { StateGraph, Annotation, START, END } = (await packages.load(library)) as LangGraphLibrary;
  const { SqliteSaver } = (await packages.load(saverLibrary)) as Saver;
  const checkpointer = SqliteSaver.fromConnString(file);
  const nodes = Array.from({ length: stepsPerRun }, (_, at) => `step-${at}`);
  let graph = new StateGraph(Annotation.Root({ last: Annotation() }));
  for (const [at, node] of nodes.entries()) graph = graph.addNode(node, async () => ({ last: stepAnswer(at) }));
  for (const [at, node] of nodes.entries()) graph = graph.addEdge(nodes[at - 1] ?? START, node);
  const compiled = graph.addEdge(nodes.at(-1) ?? START, END).compile({ checkpointer });
  let runs = 0;
  return {
    versions: [library, saverLibrary].map(packages.version),
    run: async () => {
      runs += 1;
      await compiled.invoke({ last: null }, { configurable: { thread_id: `run-${runs}` }, durability: "sync" });
    },
    close: async () => checkpointer.db.close(),
  };
}
