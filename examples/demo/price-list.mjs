// The files of the working tree that the file agent edits.
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

/** The files as they are at the start, by path. */
const firstFiles = {
  "prices.md": "# Prices\n\n| plan | per month |\n|---|---|\n| Silver | 29 |\n| Gold | 90 |\n| Platinum | 190 |\n",
  "terms.md": "# Terms\n\nA plan can be cancelled at the end of each month.\n",
  "drafts/summer-offer.md": "# Summer offer\n\nSilver for 19 until August. Never published.\n",
};

export function writeFirstFiles(tree) {
  for (const [path, text] of Object.entries(firstFiles)) {
    mkdirSync(dirname(join(tree, path)), { recursive: true });
    writeFileSync(join(tree, path), text);
  }
}

/** Returns each file as it was at the start and as it is now. Null: it does not exist. */
export function filesNow(tree) {
  const found = existsSync(tree) ? readdirSync(tree, { recursive: true, withFileTypes: true }) : [];
  const paths = found.filter((entry) => entry.isFile()).map((entry) => pathIn(tree, entry));
  const all = [...new Set([...Object.keys(firstFiles), ...paths])].sort();
  return all.map((path) => ({
    path,
    before: firstFiles[path] ?? null,
    now: existsSync(join(tree, path)) ? readFileSync(join(tree, path), "utf8") : null,
  }));
}

function pathIn(tree, { parentPath, path, name }) {
  return join(parentPath ?? path, name).slice(tree.length + 1);
}
