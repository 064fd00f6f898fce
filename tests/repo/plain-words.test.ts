import { describe, expect, it } from "vitest";
import { readTexts } from "./readable-texts.ts";
import { readFilesIn, type SourceFile } from "./source-files.ts";

const read = /^(?:src|console|tests|sim|crash|chaos|bench|scripts|examples|docs|project)\/|^[A-Z]+\.md$/;
const files = readFilesIn(".").filter(({ path }) => read.test(path));

// Before the time of any test begins: on a busy machine parsing takes longer than one test may.
for (const file of files) readTexts(file);

/** A construction that comments, messages, test titles and pages do not use, with texts that have it and that do not. */
interface WordRule {
  readonly rule: string;
  readonly forbidden: RegExp;
  readonly caught: readonly string[];
  readonly allowed: readonly string[];
}

const rules: readonly WordRule[] = [
  {
    rule: "a person or a program has a name: no indefinite pronoun",
    forbidden: /\b(?:who(?:so)?ever|whomever|nobody|somebody|anybody|everybody|someone|no one)\b/gi,
    caught: ["Whoever holds the lease", "a gate that nobody decided", "someone else appended", "No one reads it"],
    allowed: ["the worker that holds the lease", "an undecided gate", "one call at a time"],
  },
  {
    rule: "a sentence has a noun as its subject: no relative clause",
    forbidden:
      /(?:^|[.:;] )(?:What|Who|Whose|Whom|Whatever)\b(?![^.]*\?)|\bwhatever (?:is|was|are|were|has|had|else)\b/g,
    caught: ["What was reserved for it is returned.", "Checks it. Who waits is woken.", "frees whatever is reserved"],
    allowed: ["Returns what the call reserved.", "What happens at midnight?", "in one append, whatever its size"],
  },
  {
    rule: "a number is named: no `so many`",
    forbidden: /\bso (?:many|much)\b(?! that)/gi,
    caught: ["waits for so many calls", "after so much time"],
    allowed: ["waits for `count` calls", "it has many calls, so it waits", "grew so much that it is split"],
  },
  {
    rule: "a part is named with its whole: no `of which`",
    forbidden: /\b(?:of which|of then)\b/gi,
    caught: ["two calls, of which the second fails", "in the state of then"],
    allowed: ["two calls; the second fails", "the state at the start of the call"],
  },
  {
    rule: "permission is a verb: no passive `let`",
    forbidden: /\b(?:is|are|was|were|be|been|being) let\b/gi,
    caught: ["the call is let through", "a step that was let start"],
    allowed: ["the guard allows the call", "lets the call start"],
  },
  {
    rule: "a property is a noun: no `what is … of`",
    forbidden: /\bwhat (?:is|was|are|were|has been|have been|had been) \w+ of\b/gi,
    caught: ["what is left of the budget", "adds what was spent of it"],
    allowed: ["the rest of the budget", "what is missing", "what the call spent"],
  },
  {
    rule: "an object is direct: no `told of`, `said of`, `asked of`, `spoken of`",
    forbidden: /\b(?:told|sa(?:ys?|id)|asked|sp(?:eaks?|oken)) of\b|\b(?:is|are|was|were|been) said\b/gi,
    caught: ["the worker is told of it", "says of a value that it fits", "asked of a store", "as it was said"],
    allowed: ["notifies the worker", "the value fits", "the message says why"],
  },
  {
    rule: "an event has a verb of its own: no `come to`, `stands for`, `gone back`, `as though`",
    forbidden: /\b(?:(?:comes?|came|coming) to(?! rest)|st(?:ands?|ood) for|gone back|as though)\b/gi,
    caught: ["a step that came to a gate", "the key stands for the act", "has gone back", "as though it had run"],
    allowed: [
      "a step that reached a gate",
      "the key identifies the act",
      "when the run comes to rest",
      "as if it had run",
    ],
  },
  {
    rule: "a vote is an approval: no `yes` as a noun",
    forbidden: /\b(?:a|an|the|their|its|his|whose|every|each|enough|this|that) yes\b/gi,
    caught: ["the yes to this call", "A yes is valid for a day"],
    allowed: ["the approval of this call", "asks: yes or no", "`--yes` approves every gate"],
  },
];

describe.each(rules)("$rule", ({ forbidden, caught, allowed }) => {
  it.each(caught)("would catch: %s", (text) => {
    expect(text.match(forbidden)).not.toBeNull();
  });

  it.each(allowed)("allows: %s", (text) => {
    expect(text.match(forbidden)).toBeNull();
  });
});

describe("plain words", () => {
  const samples: readonly (readonly [string, SourceFile])[] = [
    ["a comment", { path: "sim/sample.ts", text: "/** Nobody waits. */" }],
    ["a comment over two lines", { path: "sim/sample.ts", text: "// Waits for so\n// many calls." }],
    ["a message", { path: "src/sample.ts", text: `throw new Error("nobody waits");` }],
    ["a template", { path: "src/sample.ts", text: "log(`nobody waits\n`);" }],
    ["a title", { path: "src/sample.test.ts", text: `it("runs when nobody waits", () => {});` }],
    ["a title with rows", { path: "tests/sample.test.ts", text: `describe.each([1])("nobody waits", () => {});` }],
    ["a paragraph", { path: "docs/sample.md", text: "- It waits for\n  so many calls." }],
  ];

  it.each(samples)("are checked in %s", (_, file) => {
    expect(violationsIn(file)).toHaveLength(1);
  });

  const others: readonly (readonly [string, SourceFile])[] = [
    ["a string in a test", { path: "tests/sample.test.ts", text: `const name = "nobody waits";` }],
    ["a string without a space", { path: "src/sample.ts", text: `const name = "nobody";` }],
    ["a code block of a page", { path: "docs/sample.md", text: "```js\nnobody();\n```" }],
  ];

  it.each(others)("are not checked in %s", (_, file) => {
    expect(violationsIn(file)).toEqual([]);
  });

  it("are used in the whole repository", () => {
    expect(files.flatMap(violationsIn)).toEqual([]);
  });
});

function violationsIn(file: SourceFile): readonly string[] {
  return readTexts(file).flatMap((text) =>
    rules.flatMap(({ forbidden }) =>
      [...text.matchAll(forbidden)].map(
        ({ 0: words, index }) => `${file.path}: "${words}" in "${around(text, index)}"`,
      ),
    ),
  );
}

const around = (text: string, index: number): string => text.slice(Math.max(0, index - 40), index + 60);
