import { join } from 'node:path';
import { installPython, startPeer } from '../../peer.ts';

const packages = ['pyiceberg[pyarrow]==0.12.0'];

/** A table as the foreign writer sees it. */
export type WrittenTable = { client: Record<string, string>; table: string };

/** The rows of a table, and the missing files that a snapshot names. */
export type Checked = { rows: string[]; missing: string[]; files: number };

/** PyIceberg in its own process; it runs one command after another. */
export type Writer = {
  append(table: WrittenTable, id: string): Promise<void>;
  overwrite(table: WrittenTable, id: string, old: string): Promise<void>;
  compact(table: WrittenTable): Promise<void>;
  check(table: WrittenTable): Promise<Checked>;
  /** Number of its commits that were refused because another one came first. */
  conflicts(): number;
  stop(): Promise<void>;
};

/** Starts the writer, and installs PyIceberg into peers/lake_faults/ once. */
export async function startWriter(python: string): Promise<Writer> {
  const interpreter = await installPython('lake_faults', packages, python);
  const peer = startPeer(interpreter, [join(import.meta.dirname, 'writer.py')]);
  let conflicts = 0;
  let last: Promise<unknown> = Promise.resolve();
  const ask = async (asked: Record<string, unknown>) => {
    const [answer = {}] = await peer.ask<{ error?: string; conflicts?: number }>(asked);
    if (answer.error !== undefined) throw new Error(`PyIceberg: ${answer.error}`);
    conflicts += answer.conflicts ?? 0;
    return answer as unknown;
  };
  const inTurn = (asked: Record<string, unknown>) => {
    const answer = last.then(() => ask(asked));
    last = answer.catch(() => undefined);
    return answer;
  };
  return {
    append: async (table, id) => void (await inTurn({ ...table, command: 'append', id })),
    overwrite: async (table, id, old) =>
      void (await inTurn({ ...table, command: 'overwrite', id, old })),
    compact: async (table) => void (await inTurn({ ...table, command: 'compact' })),
    check: async (table) => (await inTurn({ ...table, command: 'check' })) as Checked,
    conflicts: () => conflicts,
    stop: peer.stop,
  };
}
