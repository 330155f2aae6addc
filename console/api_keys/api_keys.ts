import { reading } from '../http/reading.ts';
import { pathTo } from '../http/path.ts';

/** The person's API keys, newest first. */
export const api_keys = reading(pathTo('/api/personal_api_keys/', {}, { limit: 1000 }));
