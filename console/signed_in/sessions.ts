import type { SessionRow } from '../../server/api/sessions/schema.ts';
import type { Listed } from '../http/list.ts';
import { reading } from '../http/reading.ts';

/** The browsers in which the person is signed in, newest first. */
export const sessions = reading<Listed<SessionRow>>('/api/sessions/');

/** The session of this browser: how it was opened, and whether it reaches all of the account. */
export const current_session = reading<SessionRow>('/api/sessions/@current/', { polls: false });
