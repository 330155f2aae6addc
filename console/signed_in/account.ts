import { pathTo } from '../http/path.ts';
import { reading } from '../http/reading.ts';

/** The account of the signed-in person. */
export const account = reading(pathTo('/api/users/@me/'));
