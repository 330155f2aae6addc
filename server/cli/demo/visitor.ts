import { companies, countries, devices, family_names, given_names } from './catalogue.ts';
import type { Device, Place } from './catalogue.ts';
import { openRandom } from './random.ts';

/** A visitor of the demo's shop, the same in every session. */
export type Visitor = {
  distinct_id: string;
  is_customer: boolean;
  device: Device;
  place: Place;
  name: string;
  email: string;
  plan: 'free' | 'subscriber' | 'business';
  /** The company that a customer with the plan `business` buys for. */
  company: { key: string; name: string; country: string } | undefined;
};

/**
 * Returns the visitor with this number: in one of four cases a customer with an account, else a
 * stranger. The same seed and number give the same person.
 */
export function visitorOf(seed: number, number: number): Visitor {
  const random = openRandom(seed, 'visitor', number);
  const given = given_names[random.below(given_names.length)]!;
  const family = family_names[random.below(family_names.length)]!;
  const plain = `${given}.${family}`
    .toLowerCase()
    .normalize('NFD')
    .replace(/[^a-z.]/g, '');
  const isCustomer = random.chance(0.25);
  const visitor = {
    distinct_id: isCustomer
      ? `customer_${1000 + number}`
      : random.uuidAt(1_735_689_600_000 + number * 60_000),
    is_customer: isCustomer,
    device: random.pick(devices),
    place: random.pick(countries),
    name: `${given} ${family}`,
    email: `${plain}${number}@example.com`,
    plan: random.pick([
      [70, 'free'],
      [24, 'subscriber'],
      [6, 'business'],
    ] as const),
  };
  const company =
    isCustomer && visitor.plan === 'business' ? companies[number % companies.length] : undefined;
  return { ...visitor, company };
}
