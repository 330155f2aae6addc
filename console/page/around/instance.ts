import { reading } from '../../http/reading.ts';
import { pathTo } from '../../http/path.ts';

/** The server of the console. */
export const instance = { ...reading(pathTo('/api/instance/')), staleTime: Infinity };
