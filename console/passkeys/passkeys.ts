import type { PasskeyRow } from '../../server/api/passkeys/schema.ts';
import type { Listed } from '../http/list.ts';
import { reading } from '../http/reading.ts';

/** The path of the person's passkeys in the API. */
export const passkeys_path = '/api/users/@me/passkeys/';

/** The passkeys of who is signed in, newest first. */
export const passkeys = reading<Listed<PasskeyRow>>(passkeys_path);
