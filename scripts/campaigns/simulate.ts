/**
 * Plays histories of exports in virtual time and compares each row: npm run simulate
 * [-- --minutes 60 --seed 7]. With --planted it plants each fault of test/simulation/faults.ts in
 * a process of its own, plays until a history finds it or its share of the minutes is over, and
 * prints which were found; with --histories 45 the share of each is so many histories, whatever
 * else the machine has to do. Exit code 1: a history failed, or a planted fault was not found.
 */
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import '../require_node.mjs';
import { plantedEnvironment } from '../../test/planted/fault.ts';
import { check, openSeeds } from '../../test/simulation/check.ts';
import { faults } from '../../test/simulation/faults.ts';
import { openSimulator } from '../../test/simulation/simulator.ts';
import type { Simulator } from '../../test/simulation/simulator.ts';
import { openTestStores } from '../check/check_tests.ts';
import { root, runNode } from '../child.ts';
import { anySeed, readOptions } from '../options.ts';

/** Histories until the next database: this one grows, and its clock leaves our calendar. */
const histories_per_server = 200;

const history_ms_max = 60_000;

/** Events in the lines of a trace. */
const signs: [string, RegExp][] = [
  ['kills', /is dead$/],
  ['lost answers', /-> loses the (answer|request)/],
  ['commits without an answer or refused', /destination commit -> error/],
  ['processes believed dead that continued', /falls asleep$/],
  ['moments within a transaction', / lingers$/],
  ['errors of PostgreSQL', /-> error [0-9A-Z]{5}$/],
];

const { minutes, seed, planted, only, at_once, ...options } = readOptions({
  minutes: 10,
  seconds: 0,
  histories: 0,
  seed: anySeed(),
  planted: false,
  only: '',
  at_once: availableParallelism(),
});
const histories_max = options.histories > 0 ? options.histories : Infinity;
const seconds = options.seconds > 0 ? options.seconds : minutes * 60;
/** The part of one fault: the parent only needs to know whether it is found. */
const is_quick = options.seconds > 0;
process.exitCode = (await (planted ? plantAll() : playMany())) ? 0 : 1;

async function playMany(): Promise<boolean> {
  const ends_at = Date.now() + seconds * 1000;
  const seen = new Set<string>();
  const seeds = openSeeds(seed, seen);
  const sums = new Map<string, number>();
  const add = (name: string, count: number) => sums.set(name, (sums.get(name) ?? 0) + count);
  let simulator: Simulator | undefined;
  let histories = 0;
  try {
    while (Date.now() < ends_at && histories < histories_max) {
      if (simulator === undefined || histories % histories_per_server === 0) {
        await simulator?.close();
        simulator = await openSimulator();
      }
      const next = seeds.next();
      const watch = watchHistory(`history ${histories + 1}: Seed ${next}`);
      const { trace, weeks, runs } = await check(simulator, next, { is_quick });
      clearTimeout(watch);
      histories += 1;
      add('steps', trace.length);
      add('weeks lived', weeks);
      for (const [status, count] of Object.entries(runs)) add(`runs ${status}`, count);
      for (const [name, sign] of signs) add(name, trace.filter((line) => sign.test(line)).length);
    }
  } catch (error) {
    console.log(`history ${histories + 1}: ${(error as Error).message}`);
    return false;
  } finally {
    await simulator?.close();
    const told = [...sums].map(([name, count]) => `${name} ${Math.round(count)}`);
    console.log(
      `seed ${seed}: ${histories} histories, ${told.join(', ')}, pairs seen ${seen.size}`,
    );
  }
  return true;
}

/** A history takes seconds. With a planted fault it may never end, which counts as found. */
function watchHistory(name: string): NodeJS.Timeout | undefined {
  if (!is_quick) return undefined;
  return setTimeout(() => {
    console.log(`${name}: it does not end`);
    process.exit(1);
  }, history_ms_max).unref();
}

/** Each fault has its part of the time; one is searched on each core at a time. */
async function plantAll(): Promise<boolean> {
  const chosen = faults.filter(({ name }) => only.split('|').some((part) => name.includes(part)));
  const share = Number.isFinite(histories_max)
    ? ['--seconds', String(seconds), '--histories', String(histories_max)]
    : ['--seconds', String(Math.round((seconds * at_once) / chosen.length))];
  const left = [...chosen];
  const stores = await openTestStores();
  const survivors: string[] = [];
  console.log('| fault | found after | by |\n| --- | --- | --- |');
  const work = async () => {
    for (let fault = left.shift(); fault !== undefined; fault = left.shift()) {
      const began = Date.now();
      let output = '';
      const args = ['scripts/campaigns/simulate.ts', '--seed', String(seed), ...share];
      const survived = await runNode(
        args,
        {
          ...stores.environment,
          ...plantedEnvironment(fault),
          NODE_COMPILE_CACHE: join(root, 'node_modules', '.cache', 'sluice', 'compiled'),
        },
        (text) => (output += text),
      );
      const found = /^history (\d+): Seed (\d+): (.*)$/m.exec(output);
      if (survived || found === null) survivors.push(fault.name);
      if (!survived && found === null) console.log(output.slice(-2_000));
      const took = `history ${found?.[1]}, ${Math.round((Date.now() - began) / 1000)} s`;
      const told = found === null ? 'NOT FOUND |' : `${took} | ${found[3]?.slice(0, 80)}`;
      console.log(`| ${fault.name} | ${told} |`);
    }
  };
  await Promise.all(Array.from({ length: at_once }, work)).finally(() => stores.close());
  console.log(
    `seed ${seed}: found ${chosen.length - survivors.length} of ${chosen.length} planted faults`,
  );
  return survivors.length === 0;
}
