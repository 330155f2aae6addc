import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { rowDigest } from '../chaos/row_digest.ts';
import type { Crew } from './crew.ts';

/** The requests of clients, and their answers. */
export type Load = {
  /** The digest of each acknowledged event, by uuid. */
  sent: Map<string, string>;
  /** The ids of the exports with an acknowledged creation, by name. */
  created: Map<string, string>;
  /** Requests without an answer for two minutes, or with a wrong one. */
  failed: string[];
  stop(): Promise<void>;
};

const senders = 4;
const events_per_request = 5;
const between_ms = 60;
const base = '/api/projects/@current';

/**
 * Starts to send events from several clients, and to create paused exports under idempotency keys.
 * It repeats each request until it is answered.
 */
export function startLoad(crew: Crew): Load {
  const load: Omit<Load, 'stop'> = { sent: new Map(), created: new Map(), failed: [] };
  let isStopping = false;
  const repeat = async (one: (number: number) => Promise<void>) => {
    for (let number = 0; !isStopping; number += 1) {
      await one(number).catch((error: unknown) => void load.failed.push(String(error)));
      await pause(between_ms);
    }
  };
  const send = (sender: number) => async (number: number) => {
    const events = Array.from({ length: events_per_request }, () => ({
      uuid: randomUUID(),
      event: 'failed over',
      distinct_id: `person ${number % 7}`,
      timestamp: new Date().toISOString(),
      properties: { sender, number },
    }));
    const { status, body } = await crew.ask('POST', `${base}/events/`, { events });
    if (status !== 200) throw new Error(`events: ${status} ${JSON.stringify(body)}`);
    for (const event of events) load.sent.set(event.uuid, rowDigest(event));
  };
  const create = async (number: number) => {
    const name = `written ${number}`;
    const wanted = {
      name,
      interval: 'day',
      paused: true,
      destination: { type: 'File', config: { prefix: `written/${number}` } },
    };
    const { status, body } = await crew.ask(
      'POST',
      `${base}/batch_exports/`,
      wanted,
      `key-${number}`,
    );
    if (status !== 201) throw new Error(`${name}: ${status} ${JSON.stringify(body)}`);
    load.created.set(name, String(body['id']));
  };
  const done = [
    ...Array.from({ length: senders }, (_, sender) => repeat(send(sender))),
    repeat(create),
  ];
  return {
    ...load,
    stop: async () => {
      isStopping = true;
      await Promise.all(done);
    },
  };
}
