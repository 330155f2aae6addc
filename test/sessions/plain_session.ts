import { channelOf } from './histories.ts';
import type { TextRow } from '../made_of_events/deliveries.ts';
import type { SessionEvent } from './histories.ts';

const pages = ['$pageview', '$screen'];
const campaign = (
  'utm_source utm_medium utm_campaign utm_content utm_term gclid gad_source gclsrc dclid gbraid ' +
  'wbraid fbclid msclkid twclid li_fat_id mc_cid igshid ttclid epik qclid sccid irclid _kx'
).split(' ');

/**
 * Orders events by time; of equal times the smaller uuid is earlier, whatever the order of arrival.
 */
function inOrder(one: SessionEvent, other: SessionEvent): number {
  return one.at - other.at || (one.uuid < other.uuid ? -1 : one.uuid > other.uuid ? 1 : 0);
}

/**
 * Computes the row of a session from these events and removals (microseconds) by the rules of
 * docs/sessions.md. It is plain code, independent of the store's statement.
 */
export function plainSession(
  session_id: string,
  events: SessionEvent[],
  removals: number[],
): TextRow {
  const ordered = events.toSorted(inOrder);
  const onPages = ordered.filter(({ event }) => pages.includes(event));
  const [entry] = [...onPages, ...ordered];
  const exit = onPages.at(-1) ?? ordered.at(-1);
  const [first, last] = [ordered[0], ordered.at(-1)];
  const changed = Math.max(...events.map(({ taken }) => taken), ...removals);
  const count = (name: string) => ordered.filter(({ event }) => event === name).length;
  const [pageviews, clicks, screens] = ['$pageview', '$autocapture', '$screen'].map(count);
  const used = pageviews! + clicks! + screens!;
  const seconds =
    first === undefined || last === undefined ? null : Math.floor((last.at - first.at) / 1_000_000);
  return {
    session_id,
    distinct_id: last?.distinct_id ?? null,
    person_id: last?.person_id ?? null,
    start_timestamp: textOf(first?.at),
    end_timestamp: textOf(last?.at),
    session_duration: textOf(seconds),
    final_at: textOf(first === undefined ? undefined : first.at + 86_400_000_000),
    ...place('entry', entry),
    ...place('exit', exit),
    entry_referrer: valueOf(entry, '$referrer'),
    entry_referring_domain: valueOf(entry, '$referring_domain'),
    ...Object.fromEntries(
      campaign.map((name) => [`entry_${name.replace(/^_/, '')}`, valueOf(entry, name)]),
    ),
    pageview_count: String(pageviews),
    autocapture_count: String(clicks),
    screen_count: String(screens),
    event_count: String(ordered.length),
    is_bounce: used === 0 ? null : String(used === 1 && seconds! < 10),
    channel_type: entry === undefined ? null : channelOf(entry),
    session_version: String(changed),
    is_deleted: String(ordered.length === 0),
    inserted_at: String(changed),
  };
}

function place(name: 'entry' | 'exit', event: SessionEvent | undefined): TextRow {
  const address = valueOf(event, '$current_url');
  const url = address === null ? undefined : new URL(address);
  return {
    [`${name}_current_url`]: address,
    [`${name}_pathname`]: valueOf(event, '$pathname') ?? url?.pathname ?? null,
    [`${name}_hostname`]: valueOf(event, '$host') ?? url?.hostname ?? null,
  };
}

function valueOf(event: SessionEvent | undefined, name: string): string | null {
  return textOf(event?.properties[name]);
}

function textOf(value: unknown): string | null {
  if (typeof value === 'number') return String(value);
  return typeof value === 'string' && value !== '' ? value : null;
}
