import type { QueryClient } from '@tanstack/react-query';
import { ask } from './ask.ts';
import type { Outcome, Sent } from './ask.ts';
import type { Answer, Body, Change, Path, Route } from './path.ts';
import { etagOf } from './reading.ts';

/** Fields of a record that change automatically, such as the runs of an export. */
const moving = new Set([
  'last_attempt',
  'latest_runs',
  'latest_tag',
  'next_run',
  'verification',
  'waiting_schema',
]);

/**
 * Requests a change of the version that was read (`if_match`). If the record has only changed
 * automatically since, or all fields that the person was `shown` are equal, it repeats the request
 * for the current version. Reads the visible record again.
 */
export async function askForChange<const Asked extends Change, To extends Route<Asked>>(
  queries: QueryClient,
  method: Asked,
  path: Path<To>,
  sent: Sent<Body<Asked, To>>,
  shown?: readonly string[],
): Promise<Outcome<Answer<Asked, To>>> {
  const outcome = await ask(method, path, sent);
  if (outcome.ok || outcome.problem.status !== 412) return outcome;
  const if_match = await presentVersion(queries, sent.if_match, (key) =>
    shown === undefined ? !moving.has(key) : shown.includes(key),
  );
  if (if_match === undefined) return outcome;
  // Without the idempotency key, which has stored the refusal; the version prevents a second
  // effect.
  return ask(method, path, { ...sent, if_match, idempotency_key: undefined });
}

/** Returns the current ETag of the record with this one; undefined if it differs in more. */
async function presentVersion(
  queries: QueryClient,
  read_etag: string | undefined,
  counts: (key: string) => boolean,
): Promise<string | undefined> {
  const all = queries.getQueryCache().getAll();
  const query = all.find(({ state: { data } }) => isRecord(data) && etagOf(data) === read_etag);
  const before = query?.state.data;
  if (read_etag === undefined || query === undefined || !isRecord(before)) return undefined;
  await queries.refetchQueries({ queryKey: query.queryKey, exact: true });
  const present = query.state.data;
  const is_same = isRecord(present) && partOf(present, counts) === partOf(before, counts);
  return is_same ? etagOf(present) : undefined;
}

function isRecord(data: unknown): data is object {
  return typeof data === 'object' && data !== null;
}

/** Returns the relevant part of a record as one text. */
function partOf(record: object, counts: (key: string) => boolean): string {
  return JSON.stringify(Object.entries(record).filter(([key]) => counts(key)));
}
