import type { Deps } from '../../deps.ts';
import { sharedIngestion } from '../../engine/ingest/one_ingestion.ts';
import { sharedRefusedEvents } from '../../engine/ingest/warnings/refused_events.ts';
import type { RefusedEvent } from '../../engine/ingest/warnings/refused_event.ts';
import { sharedWarnings } from '../../engine/ingest/warnings/warnings.ts';
import { ApiError } from '../../platform/http/errors.ts';
import { shownKeys } from './keys.ts';
import { protocolsOf } from './read/message.ts';
import type { Sent } from './protocol.ts';
import { UnreadError } from './read/unpack.ts';
import type { WriteAccessFinder } from './write_access.ts';

/** Notes requests that were refused or put off as a whole, each error once. */
export type Refusals = {
  /** Without a project, it takes the project of the key beside the body, or in unread bytes. */
  note(sent: Sent, error: unknown, team_id?: number): void;
  /** Returns the error marked as recorded. */
  counted(error: ApiError): ApiError;
  /** Records a request for a disabled feature, whose body is not kept. */
  noteOff(sent: Sent): void;
};

/**
 * Opens the record of requests that are refused as a whole. Their events may be lost, and not every
 * client reports that. The owner of an unreadable body is only known by a key outside of the body.
 */
export function openRefusals(deps: Deps, findAccess: WriteAccessFinder): Refusals {
  const warnings = sharedWarnings(deps);
  const kept = sharedRefusedEvents(deps);
  const { intakeOf } = sharedIngestion(deps);
  const keepUnread = async (refused: Parameters<typeof kept.keep>[0]) => {
    // It may contain values that the project's rules remove.
    if ((await intakeOf(refused.team_id))?.hides !== true) kept.keep(refused);
  };
  const noted = new WeakSet<object>();
  const add = (team_id: number, sent: Sent, { status, message }: ApiError) =>
    warnings.note({
      team_id,
      reason: status === 503 ? 'request_put_off' : 'request_refused',
      example: { from: protocolsOf(sent.path)[0]?.name, sent: `${status}: ${message}` },
    });
  const ofShownKey = (sent: Sent, work: (team_id: number) => void, inside?: string) => {
    const [key = inside] = shownKeys(sent);
    if (key === undefined) return;
    findAccess(key.split(':', 1)[0]!).then(
      ({ team_id }) => work(team_id),
      () => undefined,
    );
  };
  return {
    note: (sent, error, team_id) => {
      if (!(error instanceof ApiError) || noted.has(error)) return;
      noted.add(error);
      if (team_id !== undefined) return add(team_id, sent, error);
      // A sender without a key, or above a limit, must not cost a look-up.
      if (error.status === 401 || error.status === 503) return;
      const { key, bytes } = error instanceof UnreadError ? error.body : {};
      const noteOf = (team: number) => {
        add(team, sent, error);
        if (bytes !== undefined)
          keepUnread(unreadRequest(team, sent, error, bytes)).catch(() => undefined);
      };
      ofShownKey(sent, noteOf, key);
    },
    counted: (error) => {
      noted.add(error);
      return error;
    },
    noteOff: (sent) =>
      ofShownKey(sent, (team_id) =>
        warnings.note({ team_id, reason: 'feature_off', example: { sent: sent.path } }),
      ),
  };
}

function unreadRequest(
  team_id: number,
  { path }: Sent,
  { message }: ApiError,
  bytes: Uint8Array,
): Omit<RefusedEvent, 'id' | 'received_at'> {
  return {
    team_id,
    reason: 'request_refused',
    detail: message,
    protocol: protocolsOf(path)[0]!.name,
    path,
    content: Buffer.from(bytes),
    event: null,
    distinct_id: null,
  };
}
