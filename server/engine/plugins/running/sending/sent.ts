import type { PluginEvent } from '../read_events.ts';

/** The last event that a worker had begun to send, in the order of its turn. */
export type Begun = { inserted_at: string; event_uuid: string | null };

/**
 * The mappings that new events have gone through, and the events that may have been sent before.
 */
export type Sent = {
  isDone(event: PluginEvent, mapping: string): boolean;
  setDone(event: PluginEvent, mapping: string, how: 'sent' | 'not sent'): void;
  /** Returns true if the event has gone through all mappings; the cursor may pass it. */
  isOver(event: PluginEvent): boolean;
  /** Drops an event that the cursor has passed. */
  passed(event: PluginEvent): void;
  /** Records that the event was sent without an answer. */
  setLost(event: PluginEvent, mapping: string): void;
  mayHaveBeenSent(event: PluginEvent, mapping: string): boolean;
  /** Finds among the next events those that an earlier worker may have sent. */
  recall(events: PluginEvent[]): void;
  /** Returns true while something was sent that the cursor has not passed. */
  isAhead(): boolean;
};

/**
 * Opens the record; `begun` is the start of an earlier worker that died before it stored its
 * results.
 */
export function openSent(mappings: string[], begun: Begun | null): Sent {
  const done = new Map<string, Set<string>>();
  const sent = new Set<string>();
  const lost = new Set<string>();
  let left = begun;
  const keyOf = (uuid: string, mapping: string) => `${uuid} ${mapping}`;
  return {
    isDone: ({ uuid }, mapping) => done.get(uuid)?.has(mapping) === true,
    setDone: ({ uuid }, mapping, how) => {
      lost.delete(keyOf(uuid, mapping));
      if (how === 'sent') sent.add(uuid);
      const own = done.get(uuid);
      if (own === undefined) done.set(uuid, new Set([mapping]));
      else own.add(mapping);
    },
    isOver: ({ uuid }) => done.get(uuid)?.size === mappings.length,
    passed: ({ uuid }) => {
      done.delete(uuid);
      sent.delete(uuid);
    },
    setLost: ({ uuid }, mapping) => void lost.add(keyOf(uuid, mapping)),
    mayHaveBeenSent: ({ uuid }, mapping) => lost.has(keyOf(uuid, mapping)),
    recall: (events) => {
      const last = events.at(-1);
      if (left === null || last === undefined) return;
      const { inserted_at, event_uuid } = left;
      const until = Date.parse(inserted_at);
      // Only the store knows the order within an instant.
      const at = events.findLastIndex(
        ({ uuid, inserted_at: own }) => uuid === event_uuid || Date.parse(own) < until,
      );
      const isCut = events[at]?.uuid === event_uuid || Date.parse(last.inserted_at) > until;
      const begunHere = isCut ? events.slice(0, at + 1) : events;
      for (const { uuid } of begunHere)
        for (const mapping of mappings) lost.add(keyOf(uuid, mapping));
      if (isCut) left = null;
    },
    isAhead: () => lost.size > 0 || sent.size > 0,
  };
}
