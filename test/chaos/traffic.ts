import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import type { Site } from './deployment.ts';
import type { Random } from './random.ts';
import { rowDigest } from './row_digest.ts';

/** Events that are sent continuously, also while the server is down. */
export type Traffic = {
  /** The digest of each answered event, by uuid. */
  sent: Map<string, string>;
  /** Returns the number of events that were sent again later. */
  repeated(): number;
  /** True if a batch in progress has no answer yet. */
  isAsking(): boolean;
  /** Stops after the answer to the last batch. */
  stop(): Promise<void>;
};

type Server = Pick<Site, 'call'>;

type Sent = {
  uuid: string;
  event: string;
  distinct_id: string;
  timestamp: string;
  properties: Record<string, unknown>;
};

const batch_pause_ms = 250;
const retry_pause_ms = 300;
const repeats_max = 20;
const persons_default = 500;

/**
 * Sends batches of events until it is stopped: half of the events happened just now, half are late
 * by up to `late_ms_max`, and some were sent before. With `persons`, the events belong to that many
 * persons, and a third of them set a property. A batch without an answer is sent again with the
 * same uuids, as clients are told to do.
 */
export function startTraffic(
  deployment: Server,
  random: Random,
  lateMsMax: number,
  persons?: number,
): Traffic {
  const sent = new Map<string, string>();
  let recent: Sent[] = [];
  let repeated = 0;
  let isStopping = false;
  let isAsking = false;
  const batch = () => {
    const now = Date.now();
    const fresh = Array.from({ length: random.between(20, 150) }, () =>
      newEvent(random, now - (random.next() < 0.5 ? 0 : random.between(0, lateMsMax)), persons),
    );
    const again =
      recent.length === 0
        ? []
        : Array.from({ length: random.between(0, repeats_max) }, () => random.one(recent));
    repeated += again.length;
    return { fresh, again };
  };
  const run = async () => {
    while (!isStopping) {
      const { fresh, again } = batch();
      const events = [...fresh, ...again];
      isAsking = true;
      await sendUntilAnswered(deployment, events, fresh);
      isAsking = false;
      for (const event of events) sent.set(event.uuid, rowDigest(event));
      recent = [...events, ...recent].slice(0, 1_000);
      await pause(batch_pause_ms);
    }
  };
  const done = run();
  return {
    sent,
    repeated: () => repeated,
    isAsking: () => isAsking,
    stop: async () => {
      isStopping = true;
      await done;
    },
  };
}

/**
 * Sends a batch until it is answered. Only events without an answer are repeated: a restored store
 * may have lost all knowledge of an answered one.
 */
async function sendUntilAnswered(deployment: Server, first: Sent[], fresh: Sent[]): Promise<void> {
  for (let events = first; ; events = fresh) {
    const answer = await deployment
      .call('POST', '/api/projects/@current/events/', { events })
      .catch(() => undefined);
    if (answer?.status === 200) return;
    if (answer !== undefined && answer.status < 500 && answer.status !== 429)
      throw new Error(`Events were refused: ${JSON.stringify(answer)}`);
    await pause(retry_pause_ms);
  }
}

function newEvent(random: Random, instant: number, persons: number | undefined): Sent {
  return {
    uuid: randomUUID(),
    event: random.one(['$pageview', 'signed in', 'order completed']),
    distinct_id: `user_${random.between(1, persons ?? persons_default)}`,
    timestamp: new Date(instant).toISOString(),
    properties: {
      number: random.between(0, 1_000_000),
      ...(persons !== undefined && random.next() < 1 / 3
        ? { $set: { number: random.between(0, 1_000) } }
        : {}),
      text: 'tab\t "quoted" \\ line\n 😀'.repeat(random.between(0, 10)),
    },
  };
}
