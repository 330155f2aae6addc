import { jitsu_cases } from '../capture_cases/jitsu.ts';
import { opentelemetry_cases } from '../capture_cases/opentelemetry.ts';
import { posthog_cases } from '../capture_cases/posthog.ts';
import { case_key } from '../capture_cases/protocol_case.ts';
import type { ProtocolCase } from '../capture_cases/protocol_case.ts';
import { rudderstack_cases } from '../capture_cases/rudderstack.ts';
import { segment_cases } from '../capture_cases/segment.ts';
import { snowplow_cases } from '../capture_cases/snowplow.ts';
import type { Random } from '../chaos/random.ts';
import { hostileText, hostileValue } from './hostile.ts';
import type { Operation } from './operations.ts';
import type { Creating } from './values.ts';

const cases: readonly ProtocolCase[] = [
  ...posthog_cases,
  ...segment_cases,
  ...rudderstack_cases,
  ...jitsu_cases,
  ...snowplow_cases,
  ...opentelemetry_cases,
];
const plain: Case = {
  path: '',
  query: { api_key: case_key },
  body: { event: 'a', distinct_id: 'x' },
};

/** A client's request to a path: its query, its headers, its body as JSON. */
type Case = Pick<ProtocolCase, 'path' | 'query' | 'headers' | 'body'>;

/** The cases of all protocols with this write key instead of theirs, also in base64. */
export function casesWith(write_key: string): readonly Case[] {
  const keyed = (text: string) => text.replaceAll(case_key, write_key);
  return JSON.parse(
    keyed(JSON.stringify([plain, ...cases])).replaceAll(/[\w+/]{40,}={0,2}/g, (packed) => {
      const text = Buffer.from(packed, 'base64').toString('latin1');
      return text.includes(case_key)
        ? Buffer.from(keyed(text), 'latin1').toString('base64')
        : packed;
    }),
  ) as Case[];
}

/**
 * Creates a request of a client to the path, with this share of hostile values. The document does
 * not describe these bodies, so the cases are the source.
 */
export function createSentToDoor(
  { random, wrong }: Creating,
  { method, path }: Pick<Operation, 'method' | 'path'>,
  all: readonly Case[],
): { query: [string, string][]; headers: Record<string, string>; body: unknown } {
  const spelled = (one: string) => one.replace(/\/$/, '');
  const fitting = all.filter((one) => spelled(one.path) === spelled(path));
  const { query = {}, headers = {}, body } = random.one(fitting.length === 0 ? all : fitting);
  const sent = spoiled(random, wrong / 4, body);
  const isPacked = method === 'GET' && body !== undefined && query['data'] === undefined;
  const items = Object.entries({
    ...query,
    ...(isPacked ? { data: Buffer.from(JSON.stringify(sent)).toString('base64') } : {}),
  });
  return {
    query: items.map(([name, text]) => [name, random.next() < wrong ? hostileText(random) : text]),
    headers: { ...headers },
    body: sent,
  };
}

/** Returns the value with this share of its parts replaced. */
function spoiled(random: Random, share: number, value: unknown): unknown {
  if (random.next() < share) return hostileValue(random);
  if (Array.isArray(value)) return value.map((one) => spoiled(random, share, one));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, one]) => [name, spoiled(random, share, one)]),
  );
}
