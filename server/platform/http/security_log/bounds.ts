import { addressOf } from '../limits/address.ts';
import type { SecurityEvent } from './security_event.ts';

/** Time after which counted events are reported. */
const window_ms = 10 * 60_000;
/** Most equal events that are reported one by one. */
const alike_max = 20;
/** Most events of one address that are reported one by one. */
const of_address_max = 200;
/** Most events in total that are reported one by one. */
const all_max = 2_000;

/** Lets events through one by one, up to a limit, and counts the others. */
export type Bounds = {
  /** Returns true if the event is reported separately; otherwise it is counted. */
  letsThrough(event: SecurityEvent): boolean;
  /** Takes the counted events, one for each kind, once ten minutes are over. */
  takeCounted(now_ms: number): SecurityEvent[];
  /** Does the same as `takeCounted` without waiting. */
  takeAll(): SecurityEvent[];
};

type Counted = { told: number; more: SecurityEvent | undefined };

/**
 * Opens the limits of a process, so that a flood of refusals fills neither disk nor database. In
 * each ten minutes, it reports one by one: twenty equal events (event, reason, person, key,
 * organization, address), 200 from one address, and 2,000 in total. It reports the others as one
 * event with their number: with the person and place of the last one, or without them if there are
 * too many kinds.
 */
export function openBounds(): Bounds {
  let ends_at_ms: number | undefined;
  let told = 0;
  let alike = new Map<string, Counted>();
  let by_address = new Map<string, number>();
  let rest = new Map<string, SecurityEvent>();
  const takeAll = () => {
    const counted = [...alike.values()].flatMap(({ more }) => more ?? []);
    const events = [...counted, ...rest.values()];
    ends_at_ms = undefined;
    told = 0;
    [alike, by_address, rest] = [new Map(), new Map(), new Map()];
    return events;
  };
  return {
    letsThrough: (event) => {
      ends_at_ms ??= event.created_at_ms + window_ms;
      const address = addressOf(event.ip);
      const of_address = by_address.get(address) ?? 0;
      const key = keyOf(event, address);
      const known = alike.get(key);
      const has_room = told < all_max && of_address < of_address_max;
      if (known === undefined && !has_room) {
        const of_rest = `${event.event} ${event.reason}`;
        rest.set(of_rest, added(rest.get(of_rest), anonymous(event)));
        return false;
      }
      const counted = known ?? { told: 0, more: undefined };
      alike.set(key, counted);
      if (!has_room || counted.told >= alike_max) {
        counted.more = added(counted.more, event);
        return false;
      }
      counted.told += 1;
      told += 1;
      by_address.set(address, of_address + 1);
      return true;
    },
    takeCounted: (now_ms) => (ends_at_ms !== undefined && now_ms >= ends_at_ms ? takeAll() : []),
    takeAll,
  };
}

function keyOf(event: SecurityEvent, address: string): string {
  const { reason, user_uuid, key_mask, organization_id } = event;
  return [event.event, reason, user_uuid, key_mask, organization_id, address].join(' ');
}

function added(before: SecurityEvent | undefined, event: SecurityEvent): SecurityEvent {
  return { ...event, count: (before?.count ?? 0) + event.count };
}

/** Returns an event with only its kind and reason. */
function anonymous(event: SecurityEvent): SecurityEvent {
  return {
    ...event,
    user_id: null,
    user_uuid: null,
    user_email: null,
    key_mask: null,
    session_id: null,
    organization_id: null,
    organizations: null,
    ip: '',
    user_agent: '',
    item_id: null,
    more: {},
  };
}
