import sql from 'sql-template-tag';
import { until } from '../processes/server_process.ts';
import type { Deployment } from './deployment.ts';
import { openDeployment } from './deployment.ts';
import { openRandom } from './random.ts';

/** The result of the kills; `faults` name each apply that was neither complete nor absent. */
export type KillsOutcome = {
  kills: Record<string, number>;
  /** The number of applies that were complete afterwards, and of applies that left nothing. */
  all: number;
  nothing: number;
  faults: string[];
};

const objects = 40;
const victims = ['api', 'PostgreSQL'] as const;

/**
 * Applies plans of forty objects, and kills the API or PostgreSQL with -9 at a random instant of
 * each apply. Once all is up again, the stores have all of the plan, with an entry of the log for
 * each object, or nothing. The next plan says which.
 */
export async function runConfigurationKills(wanted: {
  folder: string;
  kills: number;
  seed: number;
  say: (line: string) => void;
}): Promise<KillsOutcome> {
  const deployment = await openDeployment(wanted.folder);
  const random = openRandom(wanted.seed, 0);
  const outcome: KillsOutcome = { kills: {}, all: 0, nothing: 0, faults: [] };
  try {
    let length_ms = await measure(deployment);
    for (let trial = 0; trial < wanted.kills; trial += 1) {
      const victim = victims[trial % victims.length]!;
      const configuration = filesOf(`trial_${trial}`);
      const planned = await ask(deployment, 'plan/', { configuration });
      const begin = performance.now();
      let status = 0;
      const applying = deployment
        .call('POST', url('apply/'), { hash: planned['hash'] })
        .then((answer) => void (status = answer.status))
        .catch(() => undefined);
      // Some kills come after the commit.
      await pause(random.next() * length_ms * 1.4);
      const isKilled = deployment.kill(victim);
      await applying;
      if (status === 200) length_ms = Math.max(50, performance.now() - begin);
      if (isKilled) outcome.kills[victim] = (outcome.kills[victim] ?? 0) + 1;
      await deployment.up();
      const found = await lookAt(deployment, `trial_${trial}`, configuration, status);
      outcome[found.isThere ? 'all' : 'nothing'] += 1;
      outcome.faults.push(...found.faults.map((fault) => `trial ${trial}, ${victim}: ${fault}`));
      wanted.say(`${trial} ${victim}: ${found.isThere ? 'all' : 'nothing'} (answer ${status})`);
    }
  } finally {
    await deployment.close();
  }
  return outcome;
}

const url = (path: string) => `/api/organizations/@current/configuration/${path}`;

/** Creates a project with exports, all with the name of the trial. */
function filesOf(name: string): object {
  const exports = Array.from({ length: objects - 1 }, (_, at) => [
    `export_${at}`,
    {
      name: `${name} ${at}`,
      interval: 'day',
      destination: { type: 'File', config: { prefix: `${name}/${at}` } },
    },
  ]);
  return { projects: { [name]: { name, batch_exports: Object.fromEntries(exports) as object } } };
}

async function ask(
  deployment: Deployment,
  path: string,
  body: unknown,
): Promise<Record<string, unknown>> {
  // A process killed just before may still hold a lock for a moment.
  return until(`an answer of ${path}`, 120_000, 200, async () => {
    const answer = await deployment.call('POST', url(path), body).catch(() => undefined);
    return answer !== undefined && answer.status < 300 ? answer.body : undefined;
  });
}

/** Returns how long an undisturbed apply takes, in milliseconds. */
async function measure(deployment: Deployment): Promise<number> {
  const { hash } = await ask(deployment, 'plan/', { configuration: filesOf('warm') });
  const begin = performance.now();
  await ask(deployment, 'apply/', { hash });
  return performance.now() - begin;
}

async function lookAt(
  { db, ...deployment }: Deployment,
  name: string,
  configuration: object,
  status: number,
): Promise<{ isThere: boolean; faults: string[] }> {
  // A connection from before the kill may be broken without having noticed.
  const count = (statement: ReturnType<typeof sql>) =>
    until('an answer of PostgreSQL', 30_000, 100, async () => {
      const row = await db.row<{ count: number }>(statement).catch(() => undefined);
      return row?.count;
    });
  const named = `${name} %`;
  const found = {
    projects: await count(sql`SELECT count(*) AS count FROM projects WHERE name = ${name}`),
    exports: await count(sql`SELECT count(*) AS count FROM batch_exports WHERE name LIKE ${named}`),
    entries: await count(sql`SELECT count(*) AS count FROM activity
      WHERE item_name = ${name} OR item_name LIKE ${named}`),
    managed: await count(sql`SELECT count(*) AS count FROM configuration_objects
      WHERE fields->>'name' = ${name} OR fields->>'name' LIKE ${named}`),
  };
  const isThere = found.projects > 0;
  const wanted = isThere
    ? { projects: 1, exports: objects - 1, entries: objects, managed: objects }
    : { projects: 0, exports: 0, entries: 0, managed: 0 };
  const next = await ask({ db, ...deployment }, 'plan/', { configuration });
  const created = (next['summary'] as Record<string, number>)['create'];
  return {
    isThere,
    faults: [
      ...(JSON.stringify(found) === JSON.stringify(wanted) ? [] : [JSON.stringify(found)]),
      ...(next['is_empty'] === isThere && created === (isThere ? 0 : objects)
        ? []
        : [`the next plan says ${JSON.stringify(next['summary'])}`]),
      ...(status === 200 && !isThere ? ['the answer was 200, and nothing is there'] : []),
    ],
  };
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
