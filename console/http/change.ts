import type { QueryClient } from '@tanstack/react-query';
import { ask } from './ask.ts';
import type { Method, Outcome, Sent } from './ask.ts';
import { etagOf } from './reading.ts';

/** What moves in a record by itself, such as the runs of an export: nobody changes it. */
const moving = new Set(['last_attempt', 'latest_runs', 'latest_tag', 'next_run', 'verification']);

/**
 * Asks for a change of the version that was read (`if_match`). Where that has only moved by itself
 * since, nobody's change is in the way: it is asked for once more, of the present version.
 */
export async function askForChange<Body>(
  queries: QueryClient,
  method: Exclude<Method, 'GET'>,
  path: string,
  sent: Sent,
): Promise<Outcome<Body>> {
  const outcome = await ask<Body>(method, path, sent);
  if (outcome.ok || outcome.problem.status !== 412) return outcome;
  const if_match = await presentVersion(queries, sent.if_match);
  if (if_match === undefined) return outcome;
  // Without the key, under which the refusal is remembered: the version keeps from a second effect.
  return ask<Body>(method, path, { ...sent, if_match, idempotency_key: undefined });
}

/** The present ETag of the record that has this one; undefined where more than movement differs. */
async function presentVersion(
  queries: QueryClient,
  read_etag: string | undefined,
): Promise<string | undefined> {
  const all = queries.getQueryCache().getAll();
  const query = all.find(({ state: { data } }) => isRecord(data) && etagOf(data) === read_etag);
  if (read_etag === undefined || !isRecord(query?.state.data)) return undefined;
  const present = await ask<object>('GET', String(query.queryKey[0]));
  if (!present.ok || still(present.body) !== still(query.state.data)) return undefined;
  return present.etag;
}

function isRecord(data: unknown): data is object {
  return typeof data === 'object' && data !== null;
}

/** All of a record that stays unless it is changed, as one text. */
function still(record: object): string {
  return JSON.stringify(Object.entries(record).filter(([key]) => !moving.has(key)));
}
