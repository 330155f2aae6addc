import type { NoticeDelivery } from '../../../server/api/notice_deliveries/schema.ts';
import type { State } from '../state.ts';

/** The events in a word or two. */
export const event_words: Record<NoticeDelivery['event'], string> = {
  failing: 'Failing',
  late: 'Late',
  unusual_volume: 'Unusual volume',
  rejecting: 'Refused rows',
  table_gone: 'Table is gone',
  schema_drift: 'Columns and events differ',
  table_unreadable: 'Table cannot be read',
  differing: 'Changed by others',
  disconnected: 'Connect again',
  recovered: 'Recovered',
  paused_automatically: 'Paused by the server',
};

/** States of a delivery. */
export const delivery_states: Record<NoticeDelivery['outcome'], State> = {
  pending: { word: 'Waiting', tone: 'muted' },
  delivered: { word: 'Delivered', tone: 'good' },
  given_up: { word: 'Given up', tone: 'bad' },
};
