import type { ToolOutcome } from '../tool_outcome.ts';
import { outcomeOfMember, outcomeOfStatus } from './outcome.ts';
import type { Seen } from './way_out.ts';

/** The limits of a batch, read from a mapping: events, bytes, and shared fields. */
export type Bounds = { size: number; bytes: number; keys: string[] };

/** An event of a batch: its position in the call, and its mapped fields. */
export type Member = { at: number; event: object; fields: Record<string, unknown> };

/** Divides events into batches of events that share the keys, within the limits. */
export function batchesOf(members: Member[], { size, bytes, keys }: Bounds): Member[][] {
  const groups = Map.groupBy(members, ({ fields }) =>
    JSON.stringify(keys.map((key) => fields[key])),
  );
  return [...groups.values()].flatMap((group) => {
    const batches: Member[][] = [];
    let [batch, length]: [Member[], number] = [[], 0];
    for (const member of group) {
      const own = Buffer.byteLength(JSON.stringify(member.fields));
      if (batch.length === 0 || batch.length >= size || length + own > bytes) {
        batches.push((batch = []));
        length = 0;
      }
      batch.push(member);
      length += own;
    }
    return batches;
  });
}

/**
 * Judges the results of a batch of this many events. If all were refused for one reason, the cause
 * is unknown: the answer applies to all together.
 */
export function outcomesOfBatch(results: unknown, batch: Member[], seen: Seen): ToolOutcome[] {
  const count = batch.length;
  const [first] = (Array.isArray(results) ? results : []) as Record<string, unknown>[];
  const listed = first?.['multistatus'];
  const list = (Array.isArray(listed) ? listed : []) as (Record<string, unknown> | undefined)[];
  const judged = Array.from({ length: count }, (_, at) => outcomeOfMember(list[at], seen));
  const outcomes = withRefused(judged, batch, seen);
  const reasons = new Set(outcomes.map((one) => ('reason' in one ? one.reason : undefined)));
  return reasons.size === 1 ? outcomes.map((one) => togetherOf(one, count)) : outcomes;
}

/** Returns the outcome as one of this many events. */
export function togetherOf(outcome: ToolOutcome, together: number): ToolOutcome {
  return 'reason' in outcome ? { ...outcome, together } : outcome;
}

/** Finds refusals of single events in an answer that the library counts as a success. */
function withRefused(outcomes: ToolOutcome[], batch: Member[], seen: Seen): ToolOutcome[] {
  const { members } = seen.read;
  if (members.length === 0) return outcomes;
  // The library omits events that it refuses, so positions only count the others.
  const places = outcomes.flatMap(({ kind }, at) => (kind === 'sent' ? [at] : []));
  const told = [...outcomes];
  for (const member of members) {
    const { status, reason } = member;
    const at =
      'at' in member
        ? [places[member.at]]
        : places.filter((place) => batch[place]!.fields[member.field] === member.value);
    for (const place of at)
      if (place !== undefined) told[place] = outcomeOfStatus(status, reason, seen);
  }
  return told;
}
