import type { ApiKeyRow } from '../../server/api/api_keys/schema.ts';
import type { Listed } from '../http/list.ts';
import { reading } from '../http/reading.ts';

/** The person's API keys, newest first. */
export const api_keys = reading<Listed<ApiKeyRow>>('/api/personal_api_keys/?limit=1000');
