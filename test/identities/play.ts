import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { dieWithParent } from '../../server/platform/embedded/programs.ts';
import { openRandom } from '../chaos/random.ts';

const program = fileURLToPath(new URL('../processes/identities_process.ts', import.meta.url));

/** The events to play, and their project. */
export type Play = {
  database_url: string;
  clickhouse_url: string;
  team_id: number;
  seed: number;
  project: number;
  sequences: number;
  batches: number;
};

/**
 * Sends the events of a project in order, through several processes. Each process except the last
 * one is killed (kill -9) in the middle of a batch after some answers. Unanswered events are sent
 * again, and often the batch before as well. Returns the number of killed processes.
 */
export async function play(wanted: Play, kills: number): Promise<number> {
  const random = openRandom(wanted.seed, 2_000_000 + wanted.project);
  let answered = -1;
  let killed = 0;
  while (answered < wanted.batches - 1) {
    const left = wanted.batches - 1 - answered;
    const isKilled = killed < kills && left > 1;
    const end = isKilled
      ? { at: answered + random.between(1, Math.min(5, left - 1)), share: random.next() * 1.2 }
      : undefined;
    const first = Math.max(0, answered + 1 - random.between(0, 1));
    answered = Math.max(answered, await sendFrom(wanted, first, end));
    if (isKilled) killed += 1;
  }
  return killed;
}

/** Sends from a batch on until the end or the kill; returns the last answered batch. */
async function sendFrom(
  { database_url, clickhouse_url, team_id, seed, project, sequences }: Play,
  first: number,
  end: { at: number; share: number } | undefined,
): Promise<number> {
  const words = [
    ...dieWithParent('KILL'),
    process.execPath,
    program,
    database_url,
    clickhouse_url,
    ...[team_id, first, seed, project, sequences].map(String),
  ];
  const child = spawn(words[0]!, words.slice(1), { stdio: ['ignore', 'pipe', 'inherit'] });
  let answered = -1;
  let began = performance.now();
  const told = createInterface({ input: child.stdout });
  const exit = new Promise<number | null>((resolve) => child.once('exit', resolve));
  const closed = new Promise<void>((resolve) => told.once('close', resolve));
  told.on('line', (line) => {
    answered = Number(line);
    // The kill must come at a random moment, so it waits for a part of a batch's usual time.
    const batch_ms = performance.now() - began;
    began = performance.now();
    if (answered === end?.at) setTimeout(() => child.kill('SIGKILL'), end.share * batch_ms);
  });
  const code = await exit;
  await closed;
  if (code !== 0 && code !== null) throw new Error(`The sender ended with ${code}.`);
  return answered;
}
