import { security_words } from './words.ts';
import type { Refusal } from './words.ts';

/** An event of the security log: kind, reason, actor and source. It never contains a secret. */
export type SecurityEvent = Omit<Refusal, 'organization_id'> & {
  user_id: number | null;
  user_uuid: string | null;
  user_email: string | null;
  key_mask: string | null;
  session_id: string | null;
  organization_id: string | null;
  organizations: string[] | null;
  ip: string;
  user_agent: string;
  method: string;
  route: string;
  item_id: string | null;
  request_id: string;
  /** The number of equal events that it stands for. */
  count: number;
  created_at_ms: number;
};

/** Returns the line of an event in the server's log, without its sentence: docs/security_log.md. */
export function lineOf(event: SecurityEvent): Record<string, unknown> {
  const {
    event: security_event,
    more = {},
    created_at_ms: _at,
    organizations: _all,
    ...told
  } = event;
  return { security_event, ...told, ...more };
}

/** Returns the sentence of an event, and the level of its line. */
export function sentenceOf({ event }: SecurityEvent): { said: string; level: 'warn' | 'info' } {
  return security_words[event];
}
