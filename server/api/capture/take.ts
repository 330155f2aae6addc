import type { Deps } from '../../deps.ts';
import { sharedIngestion } from '../../engine/ingest/one_ingestion.ts';
import { takeReads } from '../../engine/ingest/stream.ts';
import type { ReadEvent } from '../../engine/ingest/event.ts';
import { invalidMany } from '../../platform/http/errors.ts';
import { readMessage } from './aside.ts';
import type { OpenedMessage } from './aside.ts';
import type { WarningReason } from './draft.ts';
import { unknownKey } from './keys.ts';
import { busyCapture } from './limits.ts';
import type { CaptureLimits } from './limits.ts';
import { protocols } from './protocols.ts';
import type { Answer, Sent, Verdict } from './protocol.ts';
import { unpackBody } from './unpack.ts';
import type { WriteAccessFinder } from './write_access.ts';

/** Takes the events of a request and gives what its client is answered. */
export type TakeSent = (bytes: Buffer, encoding: string | undefined, sent: Sent) => Promise<Answer>;

/**
 * Opens the way of events from a request into the store. Guarantee: an answer comes when every
 * event is stored and survives a kill of everything, but those whose refusal it tells; whatever
 * else happens is an ApiError.
 */
export function openTake(
  deps: Deps,
  limits: CaptureLimits,
  findAccess: WriteAccessFinder,
): TakeSent {
  const ingestion = sharedIngestion(deps);
  const { metrics } = deps;
  return async (bytes, encoding, sent) => {
    const unpacked = await unpackBody(bytes, encoding);
    return limits.withRoom(unpacked.length, async () => {
      const message = await readMessage(unpacked, sent);
      const verdicts: Verdict[] = [];
      const team_id = await admitted(message, limits, findAccess);
      const reads = judged(message, verdicts);
      const taken = await takeReads(ingestion, team_id, reads);
      for (const outcome of ['taken', 'duplicates', 'rejected'] as const)
        if (taken[outcome] > 0) metrics.events_taken.inc({ outcome }, taken[outcome]);
      for (const [reason, count] of counted(verdicts))
        metrics.ingestion_warnings.inc({ protocol: message.protocol, reason }, count);
      if (taken.failure !== undefined) message.drop();
      if (taken.failure === 'project_gone') throw unknownKey();
      if (taken.failure !== undefined) throw busyCapture(2);
      const protocol = protocols.find(({ name }) => name === message.protocol)!;
      const isNothingStored = taken.rejected > 0 && taken.rejected === message.length;
      if (isNothingStored && protocol.tells_each?.(sent) !== true)
        throw invalidMany(
          taken.problems.map(({ position, detail }) => ({
            attr: `events__${position}`,
            code: 'invalid_input',
            detail,
          })),
        );
      return protocol.answer(sent, { verdicts, refused: taken.rejected });
    });
  };
}

/** The project of the message, once it may send; a message that may not is forgotten. */
async function admitted(
  message: OpenedMessage,
  limits: CaptureLimits,
  findAccess: WriteAccessFinder,
): Promise<number> {
  try {
    const team_id = await findAccess(message.key);
    limits.countProject(team_id);
    return team_id;
  } catch (error) {
    message.drop();
    throw error;
  }
}

/** The events of the message on their way, with the verdict on each noted. */
async function* judged(message: OpenedMessage, verdicts: Verdict[]): AsyncGenerator<ReadEvent[]> {
  for await (const reads of message.reads) {
    for (const { read, warnings, uuid } of reads)
      verdicts.push({ uuid, is_refused: read.event === undefined, warnings });
    yield reads.map(({ read }) => read);
  }
}

/** How often each reason stands in the verdicts. */
function counted(verdicts: Verdict[]): Map<WarningReason, number> {
  const counts = new Map<WarningReason, number>();
  for (const { warnings } of verdicts)
    for (const reason of warnings) counts.set(reason, (counts.get(reason) ?? 0) + 1);
  return counts;
}
