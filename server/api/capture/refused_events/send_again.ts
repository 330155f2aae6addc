import type { Deps } from '../../../deps.ts';
import type { ReadEvent } from '../../../engine/ingest/parse/event.ts';
import type { Intake } from '../../../engine/ingest/rules/intake.ts';
import { sharedIngestion } from '../../../engine/ingest/one_ingestion.ts';
import { takeReads } from '../../../engine/ingest/stream.ts';
import { diskFull } from '../../../platform/http/health/disk_full.ts';
import { ApiError, notFound, unavailable } from '../../../platform/http/errors.ts';
import type { Sent } from '../protocol.ts';
import { readMessage } from '../read/aside.ts';
import type { OpenedMessage } from '../read/aside.ts';
import { deleteRefusedEvent } from './store.ts';
import type { KeptEvent } from './store.ts';

/** The result of sending one event again; `detail` says why it was refused. */
export type SentAgain = { id: string; outcome: 'stored' | 'refused'; detail: string | null };

/**
 * Sends an event again with the time of its first arrival. Guarantee: the event is stored once,
 * however often it is sent, also after a kill in between; then it is no longer among the refused
 * events. Throws temporary errors: 503 while the store refuses writes.
 */
export async function sendAgain(deps: Deps, kept: KeptEvent): Promise<SentAgain> {
  const { id, team_id, content } = kept;
  const refused = (detail: string): SentAgain => ({ id, outcome: 'refused', detail });
  let message: OpenedMessage;
  try {
    message = await readMessage(Buffer.from(content), sentOf(kept));
  } catch (error) {
    if (error instanceof ApiError && error.status === 400) return refused(error.message);
    throw error;
  }
  const ingestion = sharedIngestion(deps);
  const intake = await ingestion.intakeOf(team_id);
  const taken = await takeReads(ingestion, team_id, readsOf(message, intake));
  if (taken.failure === 'project_gone') throw notFound();
  if (taken.failure === 'disk_full') throw diskFull(taken.taken);
  if (taken.failure !== undefined) throw unavailable();
  const [problem] = taken.problems;
  if (problem !== undefined) return refused(problem.detail);
  if (message.length === 0) return refused('It contains no event.');
  await deleteRefusedEvent(deps.db, id);
  if (taken.dropped > 0) return refused('A rule of the project drops it, so it was deleted here.');
  return taken.refused > 0
    ? refused('It belongs to an erased person, so it was deleted here.')
    : { id, outcome: 'stored', detail: null };
}

function sentOf({ id, path, received_at }: KeptEvent): Sent {
  return {
    method: 'POST',
    path,
    query: {},
    headers: { content_type: 'application/json' },
    sender: { user_agent: undefined, address: '' },
    received_ms: Date.parse(received_at),
    again: id,
  };
}

async function* readsOf(
  message: OpenedMessage,
  intake: Intake | undefined,
): AsyncGenerator<ReadEvent[]> {
  for await (const some of message.read({ intake })) yield some.map(({ read }) => read);
}
