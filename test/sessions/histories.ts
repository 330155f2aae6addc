import type { Random } from '../chaos/random.ts';
import type { StoredEvent } from '../made_of_events/stores.ts';

/** An event of a session. */
export type SessionEvent = StoredEvent;

/** A change of a project's sessions at one instant of insertion. */
export type Moment =
  | { kind: 'events'; events: SessionEvent[] }
  | { kind: 'erasure'; distinct_id: string }
  | { kind: 'retention'; before: number };

/** The sources of visitors, with the resulting channel. */
const arrivals: [properties: Record<string, unknown>, channel: string][] = [
  [{}, 'Direct'],
  [{ $referring_domain: '$direct', $referrer: '$direct' }, 'Direct'],
  [{ $referring_domain: 'shop.example', $host: 'shop.example' }, 'Direct'],
  [{ $referring_domain: 'www.google.com', $referrer: 'https://www.google.com/' }, 'Organic Search'],
  [{ $referring_domain: 'www.google.com', gclid: 'abc' }, 'Paid Search'],
  [{ utm_source: 'Google', utm_medium: 'CPC' }, 'Paid Search'],
  [{ gad_source: 1 }, 'Paid Search'],
  [{ $referring_domain: 'l.facebook.com', fbclid: 'f' }, 'Organic Social'],
  [{ utm_source: 'facebook', utm_medium: 'paid_social' }, 'Paid Social'],
  [{ utm_source: 'newsletter', utm_medium: 'email', utm_campaign: 'May "1"' }, 'Email'],
  [{ $referring_domain: 'www.youtube.com' }, 'Organic Video'],
  [{ utm_source: 'partner', utm_medium: 'affiliate' }, 'Affiliate'],
  [{ $referring_domain: 'blog.example' }, 'Referral'],
  [{ utm_source: 'acme', utm_medium: 'paid' }, 'Paid Unknown'],
  [{ utm_medium: 'banner' }, 'Display'],
  [{ utm_campaign: 'spring cross-network', utm_medium: 'cpc' }, 'Cross Network'],
  [{ utm_source: 'acme' }, 'Unknown'],
];

/** Returns the channel of an entry event, by its source. */
export function channelOf({ properties }: SessionEvent): string {
  const arrival = properties['arrival'];
  return arrivals[typeof arrival === 'number' ? arrival : 0]![1];
}

const names = ['$pageview', '$pageview', '$autocapture', '$screen', 'paid', '$identify'];
const second = 1_000_000;
const start_at = Date.UTC(2026, 5, 1) * 1_000;

/** Returns a uuid of random digits. */
export function uuidOf(random: Random): string {
  const digits = Array.from({ length: 32 }, () => random.between(0, 15).toString(16)).join('');
  return [8, 12, 16, 20, 32].map((to, at, all) => digits.slice(all[at - 1] ?? 0, to)).join('-');
}

function idOf(random: Random, number: number): string {
  const odd = [
    `v7-${number}`,
    `Straße ${number}`,
    `"${number}"`,
    `null ${number}`,
    `a'b\\${number}`,
  ];
  return random.next() < 0.8 ? uuidOf(random) : random.one(odd);
}

/** Returns the events of one session, in order of time. */
function sessionEvents(random: Random, number: number): SessionEvent[] {
  const session_id = idOf(random, number);
  // A session of two people on one device, and one that is merged into another while it continues.
  const people = [`visitor ${number % 97}`, `customer ${number % 31}`];
  const [visitor, customer] = people.map((name) => [name, uuidOf(random)] as const);
  const isMerged = random.next() < 0.3;
  let at = start_at + random.between(0, 3 * 3_600) * second;
  return Array.from({ length: random.between(1, 9) }, (_, index) => {
    // Equal times, long breaks, and clocks that are wrong by days.
    const step = random.one([0, 1, 900_000, 5 * second, 29 * 60 * second, 3 * 3_600 * second]);
    at += step;
    const skew = random.next() < 0.05 ? random.between(-40, 40) * 86_400 * second : 0;
    const [distinct_id, person_id] = isMerged && index > 2 ? customer! : visitor!;
    const arrival = random.between(0, arrivals.length - 1);
    return {
      uuid: uuidOf(random),
      event: random.one(names),
      distinct_id,
      person_id,
      properties: {
        $session_id: session_id,
        arrival,
        ...arrivals[arrival]![0],
        ...(random.next() < 0.7
          ? { $current_url: `https://shop.example/p/${random.between(1, 5)}?q=1#x` }
          : {}),
        ...(random.next() < 0.2 ? { $pathname: '/own', $host: 'shop.example' } : {}),
        ...(random.next() < 0.02 ? { big: 'BIG' } : {}),
      },
      at: at + skew,
      taken: 0,
    };
  });
}

/**
 * Returns a project's history: sessions whose events arrive in batches, late and out of order.
 * Between them, events are repeated, people erased and old events removed. `taken` grows from batch
 * to batch.
 */
export function projectHistory(random: Random, sessions: number, batches: number): Moment[] {
  const all = Array.from({ length: sessions }, (_, number) => sessionEvents(random, number)).flat();
  const of = Array.from({ length: batches }, (): SessionEvent[] => []);
  for (const event of all) {
    const first = random.between(0, batches - 1);
    of[first]!.push(event);
    // Programs that fill the table themselves may insert an event twice.
    if (random.next() < 0.02) of[random.between(first, batches - 1)]!.push(event);
  }
  const moments: Moment[] = [];
  let taken = start_at + 86_400 * second;
  for (const [index, events] of of.entries()) {
    taken += random.between(1, 600_000) * 1_000;
    const now = taken;
    moments.push({ kind: 'events', events: events.map((event) => ({ ...event, taken: now })) });
    if (index > 1 && random.next() < 0.25)
      moments.push({ kind: 'erasure', distinct_id: `visitor ${random.between(0, 96)}` });
    if (index > 2 && random.next() < 0.1)
      moments.push({ kind: 'retention', before: start_at + 86_400 * second + 500_000_000 });
  }
  return moments;
}
