import { stepAnswer } from "../workload.ts";
import { type Peer, type PeerAbsence, type PeerEngine, type PeerPlace, stepsPerRun } from "./peer.ts";
import { findPeerPackages } from "./peer-packages.ts";

const library = "@langchain/langgraph";
const saverLibrary = "@langchain/langgraph-checkpoint-sqlite";

/** The used part of the library. */
interface LangGraphLibrary {
  readonly StateGraph: new (state: unknown) => Graph;
  readonly Annotation: (() => unknown) & { Root(channels: Readonly<Record<string, unknown>>): unknown };
  readonly START: string;
  readonly END: string;
  task(name: string, work: (at: number) => Promise<object>): (at: number) => Promise<object>;
  entrypoint(
    options: { readonly name: string; readonly checkpointer: unknown },
    work: () => Promise<object>,
  ): { invoke(input: object, config: object): Promise<unknown> };
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
export const langgraphGraph: Peer = {
  name: "langgraph-graph",
  about: "LangGraph JS, a graph of ten nodes, SQLite checkpointer, durability `sync`, write-ahead log not synced",
  store: "sqlite",
  durability: "process",
  open: (folder, place) => openLangGraph(folder, place, graphOfNodes),
};

/** An entry point that calls ten tasks, one after the other. */
export const langgraphTask: Peer = {
  name: "langgraph-task",
  about: "LangGraph JS, an entry point of ten tasks, SQLite checkpointer, write-ahead log not synced",
  store: "sqlite",
  durability: "process",
  open: (folder, place) => openLangGraph(folder, place, entryPointOfTasks),
};

type Invocable = ReturnType<Graph["compile"]>;

async function openLangGraph(
  folder: string,
  { file }: PeerPlace,
  make: (library: LangGraphLibrary, checkpointer: unknown) => Invocable,
): Promise<PeerEngine | PeerAbsence> {
  const packages = findPeerPackages(folder, [library, saverLibrary]);
  if (packages === null) return { absent: `not installed: ${library}, ${saverLibrary}` };
  const { SqliteSaver } = (await packages.load(saverLibrary)) as Saver;
  const checkpointer = SqliteSaver.fromConnString(file);
  const invocable = make((await packages.load(library)) as LangGraphLibrary, checkpointer);
  let runs = 0;
  return {
    versions: [library, saverLibrary].map(packages.version),
    run: async () => {
      runs += 1;
      await invocable.invoke({ last: null }, { configurable: { thread_id: `run-${runs}` }, durability: "sync" });
    },
    close: async () => checkpointer.db.close(),
  };
}

function graphOfNodes({ StateGraph, Annotation, START, END }: LangGraphLibrary, checkpointer: unknown): Invocable {
  const nodes = Array.from({ length: stepsPerRun }, (_, at) => `step-${at}`);
  let graph = new StateGraph(Annotation.Root({ last: Annotation() }));
  for (const [at, node] of nodes.entries()) graph = graph.addNode(node, async () => ({ last: stepAnswer(at) }));
  for (const [at, node] of nodes.entries()) graph = graph.addEdge(nodes[at - 1] ?? START, node);
  return graph.addEdge(nodes.at(-1) ?? START, END).compile({ checkpointer });
}

function entryPointOfTasks({ task, entrypoint }: LangGraphLibrary, checkpointer: unknown): Invocable {
  const step = task("step", async (at) => stepAnswer(at));
  return entrypoint({ name: "bench", checkpointer }, async () => {
    let last: object = {};
    for (let at = 0; at < stepsPerRun; at += 1) last = await step(at);
    return last;
  });
}
