import type { AccountRow } from '../../server/api/users/schema.ts';
import { reading } from '../http/reading.ts';

/** The account of who is signed in. */
export const account = reading<AccountRow>('/api/users/@me/');
