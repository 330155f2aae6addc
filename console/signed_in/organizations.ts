import type { OrganizationRow } from '../../server/api/organizations/schema.ts';
import type { Listed } from '../http/list.ts';
import { reading } from '../http/reading.ts';

/** The organizations of who is signed in, with their projects. */
export const organizations = reading<Listed<OrganizationRow>>('/api/organizations/?limit=1000');
