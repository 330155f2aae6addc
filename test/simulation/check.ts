import fc from 'fast-check';
import { openRandom } from '../chaos/random.ts';
import { history } from './history.ts';
import type { History } from './history.ts';
import { play } from './play.ts';
import type { Played } from './play.ts';
import type { Simulator } from './simulator.ts';

/** Real milliseconds for the search of a shorter history with the same fault. */
const shrink_ms_max = 60_000;
/** Number of seeds from which the next one is chosen. */
const candidates = 24;
const trace_lines_max = 60;
/** Real milliseconds of the longest history; most take seconds. */
const history_ms_max = 180_000;

/** Returns the history of a seed, always the same one. */
export function historyOf(seed: number): History {
  return fc.sample(history, { seed, numRuns: 1 })[0]!;
}

/**
 * Plays the history of a seed. Rejects with the seed, the end of the trace and the shortest history
 * with the fault that is found within a minute. `is_quick` does not search for a shorter one.
 */
export async function check(
  simulator: Simulator,
  seed: number,
  { is_quick = false }: { is_quick?: boolean } = {},
): Promise<Played> {
  const trace: string[] = [];
  const ended = new AbortController();
  try {
    return await Promise.race([play(simulator, historyOf(seed), trace), stalls(ended.signal)]);
  } catch (error) {
    const isQuick = is_quick || error instanceof StalledError;
    const shortest = isQuick ? 'not looked for' : await shrink(simulator, seed);
    const lines = trace.slice(-trace_lines_max).join('\n');
    const told = `The trace ends with\n${lines}\nShortest history: ${shortest}`;
    throw new Error(`Seed ${seed}: ${String(error)}\n${told}`, { cause: error });
  } finally {
    ended.abort();
  }
}

/** A history that did not end within minutes. Its simulator can play no other one. */
class StalledError extends Error {}

/** Rejects if the history does not end in real time. */
function stalls(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    const timer = setTimeout(
      () => reject(new StalledError(`It does not end within ${history_ms_max / 1000} s.`)),
      history_ms_max,
    );
    signal.addEventListener('abort', () => clearTimeout(timer));
  });
}

async function shrink(simulator: Simulator, seed: number): Promise<string> {
  const plays = fc.asyncProperty(history, async (one) => void (await play(simulator, one)));
  const { counterexample } = await fc.check(plays, {
    seed,
    numRuns: 1,
    interruptAfterTimeLimit: shrink_ms_max,
    markInterruptAsFailure: true,
  });
  return JSON.stringify(counterexample?.[0] ?? 'the history did not fail again');
}

/** Pairs of a fault and an act of the next round. */
function pairsOf({ rounds }: History): string[] {
  return rounds.slice(0, -1).flatMap(({ fates, blow }, at) => {
    const next = rounds[at + 1]!.acts.map((act) => act.do);
    return [...fates, ...(blow === undefined ? [] : [blow.kind])].flatMap((one) =>
      next.map((act) => `${one}, then ${act}`),
    );
  });
}

/**
 * Chooses one seed after another. Of several, it takes the one whose history has the most rarely
 * seen scenes and pairs.
 */
export function openSeeds(first: number, seen: Set<string>): { next(): number } {
  const random = openRandom(first, 11);
  const played = new Map<string, number>();
  const scenesOf = ({ rounds }: History) => rounds.flatMap((one) => one.scene ?? []);
  return {
    next: () => {
      const chosen = Array.from({ length: candidates }, () => random.between(1, 2 ** 31 - 1))
        .map((seed) => {
          const one = historyOf(seed);
          const unseen = new Set(pairsOf(one).filter((pair) => !seen.has(pair)));
          const scenes = scenesOf(one);
          const rare = scenes.reduce((sum, name) => sum + 1 / (1 + (played.get(name) ?? 0)), 0);
          return { seed, scenes, unseen, worth: rare + unseen.size / candidates };
        })
        .toSorted((one, other) => other.worth - one.worth)[0]!;
      for (const pair of chosen.unseen) seen.add(pair);
      for (const name of chosen.scenes) played.set(name, (played.get(name) ?? 0) + 1);
      return chosen.seed;
    },
  };
}
