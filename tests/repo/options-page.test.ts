import { readFileSync } from "node:fs";
import { type Comment, parseSync } from "oxc-parser";
import { describe, expect, it } from "vitest";
import { defaultLimits } from "../../src/engine/api/engine-limits.ts";
import { repositoryPath } from "./repository-path.ts";

/** A type whose fields are options. */
interface OptionList {
  readonly title: string;
  readonly about: string;
  readonly file: string;
  readonly type: string;
  /** Defaults that the code has as data. Others are in the comments, after "Default:". */
  readonly defaults?: Readonly<Record<string, unknown>>;
}

interface Option {
  readonly name: string;
  readonly isRequired: boolean;
  readonly type: string;
  readonly comment: string;
}

const lists: readonly OptionList[] = [
  {
    title: "A plan",
    about: "The JSON that `submit`, `check`, `simulate` and schedules take.",
    file: "src/core/plan/plan-input.ts",
    type: "PlanInput",
  },
  { title: "A step of a plan", about: "Each of `steps`.", file: "src/core/plan/plan-input.ts", type: "PlanStepInput" },
  {
    title: "A tool",
    about: "The options of `defineTool`. [A first tool](guides/first-tool.md) shows them at work.",
    file: "src/schema/define-tool.ts",
    type: "ToolDefinition",
  },
  {
    title: "An engine",
    about: "The options of `createEngine`, and of `writ.config.mjs` where it has the same name.",
    file: "src/engine/api/engine-api.ts",
    type: "EngineOptions",
  },
  {
    title: "A tenant",
    about: "Each of `tenants`.",
    file: "src/engine/api/tenant-settings.ts",
    type: "TenantSettings",
  },
  {
    title: "Limits of an engine",
    about: "`limits` of `createEngine`. [Limits](limits.md) lists all others.",
    file: "src/engine/api/engine-limits.ts",
    type: "EngineLimits",
    defaults: { ...defaultLimits },
  },
  {
    title: "The runs that a worker claims",
    about: "`worker` of `createEngine`.",
    file: "src/core/store/store.ts",
    type: "ClaimTerms",
  },
  {
    title: "A submission",
    about: "The options of `submit` and `call`, besides `principal`.",
    file: "src/engine/api/request-options.ts",
    type: "SubmitOptions",
  },
  {
    title: "Other plans of a submission",
    about: "More options of `submit`. Guide: [replanning](guides/replanning.md).",
    file: "src/engine/api/replan-options.ts",
    type: "ReplanOptions",
  },
  {
    title: "The replanner of a submission",
    about: "`replan` of `submit`.",
    file: "src/engine/api/replan-options.ts",
    type: "ReplanSettings",
  },
  {
    title: "A session",
    about: "The options of `openRun`, besides `principal`.",
    file: "src/engine/api/open-run-api.ts",
    type: "OpenRunOptions",
  },
  {
    title: "A governed session",
    about: "The options of `govern` for the adapters, besides those of a session.",
    file: "src/agents/govern.ts",
    type: "GovernOptions",
  },
];

/** The longest type that a table shows. */
const longestType = 70;

const sections = lists.map((list) => ({ list, options: optionsOf(list) }));

describe("docs/options.md", () => {
  it("lists every option with its type, its default and its comment", async () => {
    await expect(optionsPage()).toMatchFileSnapshot(repositoryPath("docs/options.md"));
  });

  it("has a comment for every option", () => {
    const silent = sections.flatMap(({ list, options }) =>
      options.filter(({ comment }) => comment === "").map(({ name }) => `${list.type}.${name}`),
    );
    expect(silent).toEqual([]);
  });
});

function optionsPage(): string {
  const head = [
    "# Options\n",
    "The options of plans, tools, engines, submissions and sessions, with their types and defaults. A test generates this",
    "page from the types. Options in **bold** are required. Unknown options are refused. [Types](types.md) says where each",
    "named type is declared.\n",
  ].join("\n");
  const parts = sections.map(({ list, options }) => {
    const rows = options.map((option) => rowOf(option, list.defaults ?? {}));
    return [
      `## ${list.title}\n`,
      `${list.about}\n`,
      "| option | type | default | meaning |",
      "|---|---|---|---|",
      ...rows,
      "",
    ];
  });
  return [head, ...parts.map((lines) => lines.join("\n"))].join("\n");
}

function rowOf({ name, isRequired, type, comment }: Option, defaults: Readonly<Record<string, unknown>>): string {
  const found = /\s*Default: (.+?)(?:\.(?=\s|$)|$)/.exec(comment);
  const isPart = Object.keys(defaults).length > 0;
  const meaning = found === null ? comment : comment.replace(found[0], "").trim();
  const known = name in defaults ? String(defaults[name]) : (found?.[1] ?? "");
  const cells = [isRequired && !isPart ? `**\`${name}\`**` : `\`${name}\``, `\`${type}\``, known, meaning];
  return `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`;
}

function optionsOf({ file, type }: OptionList): readonly Option[] {
  const text = readFileSync(repositoryPath(file), "utf8");
  const { program, comments } = parseSync(file, text);
  for (const node of program.body) {
    const declared = node.type === "ExportNamedDeclaration" ? node.declaration : node;
    if (declared?.type !== "TSInterfaceDeclaration" || declared.id.name !== type) continue;
    let end = declared.body.start;
    return declared.body.body.flatMap((member) => {
      const before = end;
      end = member.end;
      if (member.type !== "TSPropertySignature" && member.type !== "TSMethodSignature") return [];
      if (member.key.type !== "Identifier") return [];
      return [
        {
          name: member.key.name,
          isRequired: !member.optional,
          type:
            member.type === "TSMethodSignature"
              ? "function"
              : shortType(
                  text.slice(member.typeAnnotation?.typeAnnotation.start, member.typeAnnotation?.typeAnnotation.end),
                ),
          comment: commentBetween(comments, before, member.start),
        },
      ];
    });
  }
  throw new Error(`${file} does not declare ${type}`);
}

function shortType(text: string): string {
  const line = text.replaceAll(/\s+/g, " ").replaceAll("readonly ", "").replaceAll("; }", " }");
  return line.length <= longestType ? line : `${line.slice(0, longestType - 1)}…`;
}

/** The words of the last comment between two places. */
function commentBetween(comments: readonly Comment[], from: number, to: number): string {
  const found = comments.findLast(({ start, end }) => start >= from && end <= to);
  return (found?.value ?? "")
    .replaceAll(/^\*/g, "")
    .replaceAll(/\n\s*\*/g, "\n")
    .replaceAll(/\s+/g, " ")
    .trim();
}
