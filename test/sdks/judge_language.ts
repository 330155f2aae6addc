import { isDeepStrictEqual } from 'node:util';
import { gzipSync } from 'node:zlib';
import { createWriteKey } from '../../server/platform/http/caller/write_key.ts';
import { capture_size_bytes_max } from '../../server/api/capture/read/unpack.ts';
import { storedEvents } from '../factories/events/stored_events.ts';
import type { StoredEvent } from '../factories/events/stored_events.ts';
import type { Harness } from '../harness.ts';
import { openFaultProxy } from './fault_proxy.ts';
import type { Fault } from './fault_proxy.ts';
import type { Amount, LanguageClient } from './languages.ts';
import { wanted_events } from './language_events.ts';
import type { WantedEvent } from './language_events.ts';

/** The result of a client's work, through a proxy that counts its requests. */
type Sent = { told: string[]; answered: number[]; requests: number; stored: StoredEvent[] };

/**
 * Compressed, because the server answers a longer body before it has read it, and cuts the
 * connection.
 */
const too_large = gzipSync(Buffer.alloc(capture_size_bytes_max + 1, ' '));

/**
 * Makes a client send every kind of event, and meet a revoked key, a body that is too large and a
 * busy server. Returns the differences from docs/sdks.md; none if all is right.
 */
export async function judgeLanguage(
  harness: Harness,
  address: string,
  client: LanguageClient,
): Promise<string[]> {
  const send = async (
    amount: Amount,
    { key, series = [], instead }: { key?: string; series?: Fault[]; instead?: Buffer },
  ): Promise<Sent> => {
    const { project } = await harness.newOrganization();
    const proxy = await openFaultProxy(address, () => series.shift() ?? 'none', instead);
    const told = await client
      .send(proxy.address, key ?? project.api_token, amount)
      .catch((error: Error) => [`did not end: ${error.message}`]);
    await proxy.close();
    const stored = await storedEvents(harness.deps, project.id);
    return { told, answered: proxy.answered, requests: proxy.happened.length, stored };
  };
  const wanted = wanted_events[client.name]!;
  const all = await send('all', {});
  const revoked = await send('one', { key: createWriteKey() });
  const large = await send('one', { instead: too_large });
  const busy = await send('one', { series: ['503'] });
  return [
    ...(all.told.length > 0 ? [`told of events that are stored: ${all.told.join(', ')}`] : []),
    ...missing('all', all.stored, wanted),
    ...refusedWrongly(client, 401, revoked),
    ...refusedWrongly(client, 413, large),
    ...missing('after 503', busy.stored, wanted.slice(0, 1)),
    ...(busy.requests === 2 ? [] : [`after 503: ${busy.requests} requests`]),
  ];
}

/** The program gets a refusal once, and the client does not retry for minutes. */
function refusedWrongly(
  { protocol, requests_refused }: LanguageClient,
  status: number,
  { told, answered, stored }: Sent,
): string[] {
  // Snowplow's callback gets the events and no reason.
  const word = protocol === 'snowplow' ? '1 not sent' : String(status);
  const right =
    told.length === 1 &&
    told[0]!.includes(word) &&
    answered.length === requests_refused &&
    answered.every((one) => one === status) &&
    stored.length === 0;
  return right ? [] : [`${status}: told ${JSON.stringify(told)}, answered ${answered.join(' ')}`];
}

/** Returns the events that are not stored exactly once with all their fields. */
function missing(
  what: string,
  stored: readonly StoredEvent[],
  wanted: readonly WantedEvent[],
): string[] {
  const others = [...stored];
  const faults = wanted.flatMap((one) => {
    const index = others.findIndex((event) => isStoredAs(event, one));
    if (index === -1) return [`${what}: missing ${JSON.stringify(one)}`];
    others.splice(index, 1);
    return [];
  });
  return [...faults, ...others.map((event) => `${what}: besides ${JSON.stringify(event)}`)];
}

function isStoredAs(stored: StoredEvent, wanted: WantedEvent): boolean {
  const { event, distinct_id, timestamp, properties } = stored;
  const kept = JSON.parse(properties) as Record<string, unknown>;
  return (
    event === wanted.event &&
    (wanted.distinct_id === undefined || distinct_id === wanted.distinct_id) &&
    (wanted.timestamp === undefined || timestamp === wanted.timestamp) &&
    Object.entries(wanted.properties).every(([name, value]) =>
      isDeepStrictEqual(kept[name], value),
    ) &&
    (wanted.as_written ?? []).every((text) => properties.includes(text))
  );
}
