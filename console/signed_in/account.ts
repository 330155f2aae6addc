import { pathTo } from '../http/path.ts';
import { reading } from '../http/reading.ts';

/** The account of who is signed in. */
export const account = reading(pathTo('/api/users/@me/'));
