import { pageQuery } from '../http/page_number.ts';
import { reading } from '../http/reading.ts';
import { pathTo } from '../http/path.ts';

/** One page of the open invites. */
export function invites(organization_id: string, page: number) {
  const path = pathTo(
    '/api/organizations/:organization_id/invites/',
    { organization_id },
    pageQuery(page),
  );
  return reading(path, {
    // The mails of a long list are sent after the answer.
    is_busy: ({ results }) => results.some((one) => !one.emailing_attempt_made && !one.is_expired),
  });
}
