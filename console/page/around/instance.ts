import { reading } from '../../http/reading.ts';
import { pathTo } from '../../http/path.ts';

/** The server that the console belongs to. */
export const instance = { ...reading(pathTo('/api/instance/')), staleTime: Infinity };
