import sql from 'sql-template-tag';
import type { Deps } from '../../deps.ts';
import type { Afterwards } from '../../platform/http/write.ts';
import { compose } from '../../platform/mail/compose.ts';
import type { MailContent } from '../../platform/mail/compose.ts';
import { withoutLinks } from '../../platform/mail/plain_text.ts';
import type { Transaction } from '../../platform/postgres/database.ts';
import { challengeName } from './proof/challenge.ts';

/**
 * A notice to administrators about a domain. `reason` is the sentence of the latest check; instants
 * are ISO texts.
 */
export type Notice = { id: string; domain: string } & (
  | { kind: 'verified' }
  | { kind: 'failed' | 'lapsed'; reason: string; challenge: string }
  | {
      kind: 'missing';
      reason: string;
      challenge: string;
      missing_since_at: string;
      lapses_at: string;
    }
  | { kind: 'replaced' }
  | { kind: 'certificate'; expires_at: string; is_expired: boolean }
);

/** The recipients of a notice: the active members of level 8 and more. */
type Audience = { organization_id: string; organization_name: string; addresses: string[] };

/** Returns the recipients for the domains of an organization, as of now. */
async function findAudience(tx: Transaction, organization_id: string): Promise<Audience> {
  const row = await tx.row<Audience>(sql`
    SELECT o.id AS organization_id, o.name AS organization_name, ARRAY(
      SELECT u.email FROM members m JOIN users u ON u.id = m.user_id AND u.is_active
      WHERE m.organization_id = o.id AND m.level >= 8 ORDER BY m.joined_at, m.id) AS addresses
    FROM organizations o WHERE o.id = ${organization_id}::uuid`);
  return row ?? { organization_id, organization_name: '', addresses: [] };
}

/**
 * Writes one mail to each recipient, in the transaction of the change; mails are sent after the
 * commit.
 */
export async function writeNotice(
  place: { tx: Transaction; afterwards: Afterwards },
  { outbox, config }: Pick<Deps, 'outbox' | 'config'>,
  organization_id: string,
  notice: Notice,
): Promise<void> {
  const audience = await findAudience(place.tx, organization_id);
  // Anybody can choose the name, so it must not add paragraphs or links to our mail.
  const organization = withoutLinks(audience.organization_name);
  const said = contentOf(notice, organization);
  const action =
    notice.kind === 'replaced'
      ? {}
      : {
          action: {
            label: 'See the domain',
            url:
              `${config.public_url}/api/organizations/${audience.organization_id}` +
              `/domains/${notice.id}/`,
          },
        };
  const footer = `You get this mail because you administer the organization ${organization}.`;
  const composed = compose({ ...said, ...action, footer });
  await outbox.post(
    place,
    audience.addresses.map((to) => ({ message: { to, subject: said.heading, ...composed } })),
  );
}

type Said = Pick<MailContent, 'heading' | 'paragraphs'>;

function contentOf(notice: Notice, organization: string): Said {
  const { domain } = notice;
  switch (notice.kind) {
    case 'verified':
      return {
        heading: `${domain} is verified`,
        paragraphs: [
          `The DNS record that proves ${domain} was found, so the domain belongs to the ` +
            `organization ${organization}. Its sign-in settings apply from now on.`,
          'Keep the record: Sluice checks it every day, and the domain lapses if the record ' +
            'is missing for 72 hours.',
        ],
      };
    case 'missing':
      return {
        heading: `The DNS record of ${domain} is missing`,
        paragraphs: [
          `The DNS record that proves ${domain} has not been seen since ` +
            `${notice.missing_since_at}. ${notice.reason}`,
          `Put the record back before ${notice.lapses_at}. After that, ${domain} lapses, and ` +
            'its sign-in settings stop applying.',
          recordToSet(notice),
        ],
      };
    case 'lapsed':
      return lapsedContent(notice, organization);
    case 'failed':
      return {
        heading: `${domain} could not be verified`,
        paragraphs: [
          `The DNS record that proves ${domain} was not found for 30 days, and the server no ` +
            `longer looks for it. ${notice.reason}`,
          'Once the record exists, start the check yourself. Until then another ' +
            'organization may claim the domain.',
          recordToSet(notice),
        ],
      };
    case 'replaced':
      return {
        heading: `${domain} was claimed by another organization`,
        paragraphs: [
          `The organization ${organization} had claimed ${domain} and did not prove it. ` +
            'Another organization of this server has claimed it now, so the claim of ' +
            `${organization} is deleted.`,
          'If the domain is yours, tell the operator of this server.',
        ],
      };
    case 'certificate':
      return certificateContent(notice);
  }
}

function lapsedContent(
  notice: { domain: string; reason: string; challenge: string },
  organization: string,
): Said {
  return {
    heading: `${notice.domain} is no longer verified`,
    paragraphs: [
      `The DNS record of ${notice.domain} was missing for 72 hours. ${notice.reason}`,
      'Single sign-on is no longer enforced for addresses of the domain, and nobody signs in ' +
        `or becomes a member of ${organization} through it. The settings are kept and apply ` +
        'again once the record is back.',
      recordToSet(notice),
    ],
  };
}

function certificateContent({
  domain,
  expires_at,
  is_expired,
}: {
  domain: string;
  expires_at: string;
  is_expired: boolean;
}): Said {
  const state = is_expired ? 'has expired' : 'expires soon';
  return {
    heading: `The SAML certificate of ${domain} ${state}`,
    paragraphs: [
      `The last certificate with which the identity provider of ${domain} signs ` +
        `${is_expired ? 'expired' : 'expires'} at ${expires_at}.`,
      'Create a new one at the identity provider and put it into saml_x509_cert beside the ' +
        'old one; take the old one out when the provider signs with the new one.',
    ],
  };
}

function recordToSet({ domain, challenge }: { domain: string; challenge: string }): string {
  return `Type: TXT\nName: ${challengeName(domain)}\nValue: ${challenge}`;
}
