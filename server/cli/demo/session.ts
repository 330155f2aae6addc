import { products, referrers } from './catalogue.ts';
import type { Product } from './catalogue.ts';
import { openRandom } from './random.ts';
import type { Random } from './random.ts';
import { visitorOf } from './visitor.ts';
import type { Visitor } from './visitor.ts';

/** An event in the form of the ingestion endpoint. */
export type DemoEvent = {
  uuid: string;
  event: string;
  distinct_id: string;
  timestamp: string;
  properties: Record<string, unknown>;
};

/** Average number of events in a session, measured over 164,000 sessions. */
export const events_per_session = 5.46;

type Walk = {
  at: number;
  readonly random: Random;
  readonly visitor: Visitor;
  readonly session_id: string;
  readonly events: DemoEvent[];
};
type CartLine = { product: Product; quantity: number };

const shop_url = 'https://shop.example.com';

/**
 * Returns one visit from its first page until the visitor leaves, usually before the checkout.
 * Events are ordered by time, within about half an hour.
 */
export function sessionEvents(
  seed: number,
  startsAt: number,
  slot: string,
  visitorNumber: number,
): DemoEvent[] {
  const random = openRandom(seed, 'session', slot);
  const walk: Walk = {
    at: startsAt,
    random,
    visitor: visitorOf(seed, visitorNumber),
    session_id: random.uuidAt(startsAt),
    events: [],
  };
  const referrer = random.pick(referrers);
  page(
    walk,
    random.pick([
      [5, '/'],
      [3, '/c/coffee'],
      [2, '/blog/dialling-in'],
    ]),
    {
      $referrer: referrer ?? '$direct',
      $referring_domain: referrer === null ? '$direct' : new URL(referrer).hostname,
    },
  );
  if (random.chance(0.3)) return walk.events;
  if (walk.visitor.is_customer) signIn(walk);
  const cart = browse(walk);
  if (cart.length === 0 || random.chance(0.42)) return walk.events;
  checkOut(walk, cart);
  return walk.events;
}

function add(walk: Walk, event: string, properties: Record<string, unknown>): void {
  const { random, visitor } = walk;
  const microseconds = String(random.below(1000)).padStart(3, '0');
  walk.events.push({
    uuid: random.uuidAt(walk.at),
    event,
    distinct_id: visitor.distinct_id,
    timestamp: new Date(walk.at).toISOString().replace('Z', `${microseconds}Z`),
    properties: {
      ...properties,
      $session_id: walk.session_id,
      ...visitor.device,
      $geoip_country_code: visitor.place.country,
      ...(visitor.company === undefined ? {} : { $groups: { company: visitor.company.key } }),
      $lib: 'web',
    },
  });
  walk.at += Math.round(1_500 + random.around(25_000));
}

function page(walk: Walk, path: string, more: Record<string, unknown> = {}): void {
  add(walk, '$pageview', { $current_url: `${shop_url}${path}`, $pathname: path, ...more });
}

function signIn(walk: Walk): void {
  const { name, email, plan, place } = walk.visitor;
  const set = { name, email, plan, country: place.country };
  const once = { $initial_browser: walk.visitor.device.$browser };
  add(walk, 'signed in', { $set: set, $set_once: once });
  const { company } = walk.visitor;
  if (company === undefined) return;
  const { key, ...properties } = company;
  add(walk, '$groupidentify', {
    $group_type: 'company',
    $group_key: key,
    $group_set: { ...properties, last_buyer: name },
  });
}

function browse(walk: Walk): CartLine[] {
  const { random, visitor } = walk;
  const cart: CartLine[] = [];
  const looks = 1 + Math.floor(random.around(visitor.is_customer ? 2.4 : 1.8));
  for (let look = 0; look < Math.min(looks, 12); look += 1) {
    const product = products[Math.floor(products.length * random.next() ** 1.6)]!;
    page(walk, `/p/${product.sku.toLowerCase()}`);
    add(walk, 'product viewed', { ...lineOf(product, visitor), category: product.category });
    if (!random.chance(0.2)) continue;
    const quantity = random.pick([
      [80, 1],
      [15, 2],
      [5, 3],
    ]);
    cart.push({ product, quantity });
    add(walk, 'added to cart', { ...lineOf(product, visitor), quantity });
  }
  return cart;
}

function checkOut(walk: Walk, cart: CartLine[]): void {
  const { random, visitor } = walk;
  const items = cart.map(({ product, quantity }) => ({ ...lineOf(product, visitor), quantity }));
  const total = cents(items.reduce((sum, item) => sum + item.price * item.quantity, 0));
  page(walk, '/checkout');
  add(walk, 'checkout started', { items: items.length, total, currency: visitor.place.currency });
  if (random.chance(0.35)) return;
  if (!visitor.is_customer && random.chance(0.4)) {
    const { name, email, place } = visitor;
    add(walk, 'signed up', {
      $set: { name, email, plan: 'free', country: place.country },
      $set_once: { signed_up_at: new Date(walk.at).toISOString() },
    });
  }
  const payment = random.pick([
    [45, 'card'],
    [35, 'paypal'],
    [20, 'invoice'],
  ]);
  if (random.chance(0.08)) {
    add(walk, 'payment failed', {
      payment,
      total,
      currency: visitor.place.currency,
      reason: random.pick([
        [6, 'declined'],
        [3, 'timeout'],
        [1, 'fraud check'],
      ]),
    });
    if (random.chance(0.5)) return;
  }
  add(walk, 'order completed', {
    order_id: `R-${String(random.below(10 ** 9)).padStart(9, '0')}`,
    items,
    total,
    currency: visitor.place.currency,
    payment,
  });
}

function lineOf(product: Product, visitor: Visitor) {
  return {
    sku: product.sku,
    name: product.name,
    price: cents((product.price_cents / 100) * visitor.place.rate),
    currency: visitor.place.currency,
  };
}

function cents(amount: number): number {
  return Math.round(amount * 100) / 100;
}
