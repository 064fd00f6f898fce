/** One room of the house: who lives there, and everything it may reach for. What is not listed is out of bounds. */
export interface Room {
  readonly name: string;
  readonly about: string;
  /** Other rooms it may import; type imports count. */
  readonly rooms: readonly string[];
  /** Packages it may import. */
  readonly packages: readonly string[];
  /** Node's own modules it may import. */
  readonly node: "any" | readonly string[];
}

export const rooms: readonly Room[] = [
  {
    name: "core",
    about: "the law: nouns, decisions, ports",
    rooms: [],
    packages: [],
    node: [],
  },
  {
    name: "policy",
    about: "the guards: functions that answer admitted, held or refused",
    rooms: ["core"],
    packages: [],
    node: [],
  },
  {
    name: "expression",
    about: "the interpreters: conditions as text, answered from the data they are given, in a time that is known",
    rooms: ["core"],
    packages: ["@marcbachmann/cel-js"],
    node: [],
  },
  {
    name: "schema",
    about: "the readers: JSON Schema and Standard Schema behind core's port",
    rooms: ["core", "expression"],
    packages: ["@standard-schema/spec", "ajv-formats"],
    node: ["node:crypto"],
  },
  {
    name: "store/memory",
    about: "the vault that forgets when the process ends",
    rooms: ["core"],
    packages: [],
    node: "any",
  },
  {
    name: "store/rehearsal",
    about: "the vault that reads another and keeps its writes to itself",
    rooms: ["core", "store/memory"],
    packages: [],
    node: "any",
  },
  {
    name: "store/sqlite",
    about: "the vault in one file",
    rooms: ["core"],
    packages: ["@photostructure/sqlite"],
    node: "any",
  },
  {
    name: "store/postgres",
    about: "the vault that many processes share",
    rooms: ["core"],
    packages: ["pg"],
    node: "any",
  },
  {
    name: "engine",
    about: "the clerk who walks a call along the road",
    rooms: ["core", "policy", "expression", "store/rehearsal"],
    packages: [],
    node: ["node:crypto"],
  },
  {
    name: "resources",
    about: "the workshop: files that tools change, and how they were before",
    rooms: ["core"],
    packages: [],
    node: "any",
  },
  {
    name: "verifiers",
    about: "those who ask the world whether a recorded act still holds",
    rooms: ["core"],
    packages: [],
    node: "any",
  },
  {
    name: "testing",
    about: "the rehearsal room, open to the public",
    rooms: ["core", "engine", "policy", "expression", "schema", "store/memory"],
    packages: [],
    node: "any",
  },
  {
    name: "cli",
    about: "the window: look, approve, settle",
    rooms: [
      "core",
      "policy",
      "expression",
      "schema",
      "store/memory",
      "store/rehearsal",
      "store/sqlite",
      "store/postgres",
      "engine",
      "verifiers",
    ],
    packages: ["commander", "picocolors"],
    node: "any",
  },
];

/** The files directly in src: named re-exports of any room, and nothing else. */
export const door = "a door";

/** The room of a path below src (`store/sqlite/migrate.ts`), `door`, or undefined when no room has that name. */
export function roomOf(path: string): string | undefined {
  if (!path.includes("/")) return door;
  return rooms.find(({ name }) => path.startsWith(`${name}/`))?.name;
}
