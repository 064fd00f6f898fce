import type { Erasure, StoredEvent } from "../../../core/store/store.ts";
import type { Digest } from "../../../core/values/ids.ts";
import { blobNameIn, hashBody } from "../../journal/journal-codec.ts";
import type { WorkerPorts } from "../../worker/worker-ports.ts";

/** The most that one transaction erases. It holds a file, so that other processes wait for it. */
export const erasurePiece = { bodies: 500, blobs: 50 } as const;

/**
 * Erases the bodies of events, from the first one on, and each blob with the last body that refers to it. A process that
 * is killed in between leaves the later bodies, and the next retention erases them. Returns how many bodies were erased;
 * it ends early if the journal has new events.
 */
export async function eraseInPieces(
  { store }: Pick<WorkerPorts, "store">,
  journal: Pick<Erasure, "tenant" | "run" | "position">,
  stored: readonly StoredEvent[],
  isErasable: (event: StoredEvent) => boolean,
): Promise<number> {
  let erased = 0;
  for (const piece of piecesOf(stored, isErasable)) {
    const keep = stored.filter(({ position }) => !piece.positions.has(position)).map(({ position }) => position);
    const done = await store.erase({ ...journal, keep, blobs: piece.blobs }, hashBody);
    if (done === null) return erased;
    erased += done;
  }
  return erased;
}

interface ErasurePiece {
  readonly positions: Set<number>;
  readonly blobs: Digest[];
}

function piecesOf(
  stored: readonly StoredEvent[],
  isErasable: (event: StoredEvent) => boolean,
): readonly ErasurePiece[] {
  const lastUse = lastUses(stored, isErasable);
  const pieces: ErasurePiece[] = [];
  for (const event of stored) {
    const { position, body } = event;
    if (body === null || !isErasable(event)) continue;
    let piece = pieces.at(-1);
    if (piece === undefined || isFull(piece)) {
      piece = { positions: new Set(), blobs: [] };
      pieces.push(piece);
    }
    piece.positions.add(position);
    const blob = blobNameIn(body);
    if (blob !== null && lastUse.get(blob) === position) piece.blobs.push(blob);
  }
  return pieces;
}

function isFull({ positions, blobs }: ErasurePiece): boolean {
  return positions.size >= erasurePiece.bodies || blobs.length >= erasurePiece.blobs;
}

/** Returns the position of the last body that refers to each blob; none for a blob of a body that stays. */
function lastUses(
  stored: readonly StoredEvent[],
  isErasable: (event: StoredEvent) => boolean,
): ReadonlyMap<Digest, number> {
  const uses = new Map<Digest, number>();
  for (const event of stored) {
    const blob = event.body === null ? null : blobNameIn(event.body);
    if (blob !== null) uses.set(blob, isErasable(event) ? Math.max(event.position, uses.get(blob) ?? 0) : KEPT);
  }
  return uses;
}

/** Later than every position. */
const KEPT = Number.POSITIVE_INFINITY;
