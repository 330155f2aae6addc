import { reading } from '../http/reading.ts';
import { pathTo } from '../http/path.ts';

/** The passkeys of the signed-in person, newest first. */
export const passkeys = reading(pathTo('/api/users/@me/passkeys/'));
