import type { WarningReason } from './warning.ts';

/** A refused event or whole request: a row of the table. */
export type RefusedEvent = {
  id: string;
  team_id: number;
  received_at: string;
  reason: WarningReason;
  detail: string;
  protocol: string;
  path: string;
  content: Buffer;
  event: string | null;
  distinct_id: string | null;
};
