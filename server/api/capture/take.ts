import type { Deps } from '../../deps.ts';
import type { ReadEvent } from '../../engine/ingest/parse/event.ts';
import { sharedIngestion } from '../../engine/ingest/one_ingestion.ts';
import type { IntakeFinder } from '../../engine/ingest/rules/find_intake.ts';
import { takeReads } from '../../engine/ingest/stream.ts';
import type { Taken } from '../../engine/ingest/stream.ts';
import { sharedRefusedEvents } from '../../engine/ingest/warnings/refused_events.ts';
import type { RefusedEvent } from '../../engine/ingest/warnings/refused_event.ts';
import { examples_max } from '../../engine/ingest/warnings/store.ts';
import type { WarningExample, WarningReason } from '../../engine/ingest/warnings/warning.ts';
import { sharedWarnings } from '../../engine/ingest/warnings/warnings.ts';
import { diskFull } from '../../platform/http/health/disk_full.ts';
import { invalidMany, unavailable } from '../../platform/http/errors.ts';
import type { ApiError } from '../../platform/http/errors.ts';
import { out_of_files } from '../../platform/open_files.ts';
import type { TakeFailure } from '../../engine/ingest/batcher.ts';
import { readMessage } from './read/aside.ts';
import type { OpenedMessage } from './read/aside.ts';
import { busyCapture } from './limits.ts';
import { unknownKey } from './keys.ts';
import type { CaptureLimits } from './limits.ts';
import { protocols } from './protocols.ts';
import type { Answer, Sent, Verdict } from './protocol.ts';
import type { Read } from './read/read_draft.ts';
import type { Refusals } from './refusals.ts';
import type { Traffic } from './read/traffic.ts';
import { unpackBody } from './read/unpack.ts';
import { openVisitorSalts } from './visitor_salts.ts';
import type { VisitorSalts } from './visitor_salts.ts';
import type { WriteAccessFinder } from './write_access.ts';

/** Ingests the events of a request and returns the answer for its client. */
export type TakeSent = (bytes: Buffer, encoding: string | undefined, sent: Sent) => Promise<Answer>;

type Gate = { limits: CaptureLimits; findAccess: WriteAccessFinder; refusals: Refusals };

/**
 * Opens the ingestion of events. Guarantee: the answer follows after every event is stored and
 * survives a kill of everything, except for events whose refusal it reports. Any other fault is an
 * ApiError. Changes to events are recorded as warnings.
 */
export function openTake(deps: Deps, gate: Gate): TakeSent {
  const ingestion = sharedIngestion(deps);
  const warnings = sharedWarnings(deps);
  const { metrics } = deps;
  const { limits, refusals } = gate;
  const saltOf = openVisitorSalts(deps.db);
  const { intakeOf } = ingestion;
  const kept = sharedRefusedEvents(deps);
  const takeMessage = async (message: OpenedMessage, sent: Sent): Promise<Answer> => {
    const traffic = await admitted(message, sent, { ...gate, saltOf, intakeOf });
    const { team_id } = traffic;
    const { protocol: from } = message;
    const judged = judge(message, traffic, (one, reason) => {
      // The sent event contains values that the project's rules remove.
      if (traffic.intake?.hides === true) return;
      kept.keep(refusedEvent(one, { team_id, reason, protocol: from, path: sent.path }));
    });
    const taken = await takeReads(ingestion, team_id, judged.reads);
    for (const outcome of ['taken', 'duplicates', 'dropped', 'rejected'] as const)
      if (taken[outcome] > 0) metrics.events_taken.inc({ outcome }, taken[outcome]);
    if (taken.failure !== undefined) {
      message.drop();
      if (taken.failure === 'project_gone') throw unknownKey();
      throw noted(refusals, sent, notTaken(taken.failure, taken.taken), team_id);
    }
    for (const [reason, { events, examples }] of judged.warnings) {
      metrics.ingestion_warnings.inc({ protocol: from, reason }, events);
      // The code that stores the event records it.
      if (reason === 'person_too_large' || reason === 'off_plan') continue;
      for (const [index, example] of examples.entries())
        warnings.note({
          team_id,
          reason,
          example: { from, ...example },
          events: index === 0 ? events : 0,
        });
    }
    const protocol = protocols.find(({ name }) => name === from)!;
    const isNothingStored = taken.rejected > 0 && taken.rejected === message.length;
    if (isNothingStored && protocol.tells_each?.(sent) !== true)
      throw refusals.counted(refusedAll(taken));
    return protocol.answer(sent, { verdicts: judged.verdicts, refused: taken.rejected });
  };
  return (bytes, encoding, sent) =>
    limits.withRoom(sent.sender.address, async (place) => {
      const unpacked = await unpackBody(bytes, encoding, place.hold);
      return takeMessage(await readMessage(unpacked, sent), sent);
    });
}

type Admission = Gate & { saltOf: VisitorSalts; intakeOf: IntakeFinder };

/** Returns the project of the message if it may send; otherwise drops the message. */
async function admitted(
  message: OpenedMessage,
  sent: Sent,
  { limits, findAccess, refusals, saltOf, intakeOf }: Admission,
): Promise<Traffic> {
  let team_id: number | undefined;
  try {
    const access = await findAccess(message.key);
    team_id = access.team_id;
    limits.countProject(team_id);
    const visitor_salt = await saltOf(sent.received_ms);
    return { ...access, ...sent.sender, visitor_salt, intake: await intakeOf(team_id) };
  } catch (error) {
    message.drop();
    throw noted(refusals, sent, error, team_id);
  }
}

function noted<Fault>(refusals: Refusals, sent: Sent, error: Fault, team_id?: number): Fault {
  refusals.note(sent, error, team_id);
  return error;
}

/** The verdicts on a message's events; complete after all `reads` were ingested. */
type JudgedMessage = {
  reads: AsyncIterable<ReadEvent[]>;
  verdicts: Verdict[];
  warnings: Map<WarningReason, { events: number; examples: WarningExample[] }>;
};

function judge(
  message: OpenedMessage,
  traffic: Traffic,
  keep: (refused: Read, reason: WarningReason) => void,
): JudgedMessage {
  const verdicts: Verdict[] = [];
  const warnings: JudgedMessage['warnings'] = new Map();
  const count = (one: Read, reason: WarningReason) => {
    const known = warnings.get(reason) ?? { events: 0, examples: [] };
    known.events += 1;
    if (known.examples.length < examples_max) known.examples.push(exampleOf(one, reason));
    warnings.set(reason, known);
  };
  const judged = (some: Read[]): ReadEvent[] => {
    const wanted: ReadEvent[] = [];
    for (const one of some) {
      const { read, warnings: reasons, uuid, is_dropped } = one;
      for (const reason of reasons) count(one, reason);
      // Events that the project drops are answered as stored.
      const told = is_dropped === true ? [] : reasons;
      const is_refused =
        is_dropped !== true && read.event === undefined && read.dropped_by === undefined;
      verdicts.push({ uuid, is_refused, warnings: told });
      if (is_refused && one.content !== undefined) keep(one, reasons.at(-1)!);
      if (is_dropped !== true) wanted.push(read);
    }
    return wanted;
  };
  return { reads: judgedParts(message.read(traffic), judged), verdicts, warnings };
}

async function* judgedParts(
  parts: AsyncIterable<Read[]>,
  judged: (some: Read[]) => ReadEvent[],
): AsyncGenerator<ReadEvent[]> {
  for await (const some of parts) yield judged(some);
}

function refusedEvent(
  { read, content, told }: Read,
  about: Pick<RefusedEvent, 'team_id' | 'reason' | 'protocol' | 'path'>,
): Omit<RefusedEvent, 'id' | 'received_at'> {
  return {
    ...about,
    detail: read.problems![0]!.detail,
    content: Buffer.from(content!),
    event: storable(told?.event),
    distinct_id: storable(told?.distinct_id),
  };
}

/** Returns a text that PostgreSQL can store. */
function storable(text: string | undefined): string | null {
  return text?.replaceAll('\0', '\uFFFD').toWellFormed() ?? null;
}

function exampleOf({ read, told, uuid }: Read, reason: WarningReason): WarningExample {
  const { event, distinct_id, sent } = told ?? { sent: {} };
  return { event, distinct_id, uuid: read.event?.uuid ?? uuid, sent: sent[reason] };
}

function refusedAll({ problems }: Taken) {
  return invalidMany(
    problems.map(({ position, detail }) => ({
      attr: `events__${position}`,
      code: 'invalid_input',
      detail,
    })),
  );
}

function notTaken(failure: TakeFailure, taken: number): ApiError {
  if (failure === 'disk_full') return diskFull(taken);
  return failure === 'out_of_files' ? unavailable(out_of_files) : busyCapture(2);
}
