import type { Static } from 'typebox';
import type {
  ActivityChain,
  ActivityRow,
  ActivityWanted,
} from '../../server/api/activity/schema.ts';
import type { Continued } from '../http/list.ts';
import { reading } from '../http/reading.ts';
import { organizationPath } from '../signed_in/organization.ts';

/** What narrows the activity, with the place in it, as the address has it. */
export type Filter = Omit<ActivityWanted, 'after_number'> & { cursor?: string };

/** What was changed in an organization, newest first, as far as it fits the filter. */
export function activityOf(organization_id: string, filter: Filter) {
  const query = new URLSearchParams({ limit: '50', ...filter }).toString();
  return reading<Continued<ActivityRow>>(`${organizationPath(organization_id)}activity/?${query}`);
}

/** How the chain of an organization's log stands. */
export function chainOf(organization_id: string) {
  return reading<Static<typeof ActivityChain>>(
    `${organizationPath(organization_id)}activity/chain/`,
  );
}

/** The cursor in the address of another page of a list. */
export function cursorOf(link: string): string {
  return new URL(link, document.baseURI).searchParams.get('cursor') ?? '';
}
