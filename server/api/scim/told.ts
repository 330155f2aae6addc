import type { MailContent } from '../../platform/mail/compose.ts';
import { level_names } from '../../platform/http/caller/access.ts';
import { withoutLinks } from '../../platform/mail/plain_text.ts';
import type { GroupRow } from './schema.ts';

type Said = Pick<MailContent, 'heading' | 'paragraphs'>;
type Named = { name: string; mask_value: string };

/** Anybody can choose names, so they must not add paragraphs or links to our mail. */
const quoted = (name: string) => `“${withoutLinks(name)}”`;
const called = ({ name, mask_value }: Named) => `the token ${quoted(name)} (${mask_value})`;
const where = 'on the page of the domain';

/** Builds the mail about a new token, whose directory adds and removes people. */
export function tokenCreated(
  domain: string,
  token: Named & { expires_at: string },
  by: string,
): Said {
  return {
    heading: `A directory token was created for ${domain}`,
    paragraphs: [
      `${by} created ${called(token)}. With it a directory says over SCIM who is a member of ` +
        'your organization.',
      `The token expires at ${token.expires_at}. It ends sooner if ${by} is no longer an owner.`,
      `If you do not expect this, revoke the token ${where}.`,
    ],
  };
}

/** Builds the mail about a revoked token. */
export function tokenRevoked(domain: string, token: Named, by: string): Said {
  return {
    heading: `A directory token of ${domain} was revoked`,
    paragraphs: [
      `${by} revoked ${called(token)}. The server refuses a directory that still uses it.`,
    ],
  };
}

/** Builds the mail about a token whose creator is no longer an owner. */
export function tokenEnded(domain: string, token: Named, maker: string | null): Said {
  const who = maker ?? 'The person who created it';
  return {
    heading: `A directory token of ${domain} has ended`,
    paragraphs: [
      `${who} is no longer an active owner of your organization, so ${called(token)} has ended.`,
      'If your directory used this token, the server now refuses it, and people who leave ' +
        `the company stay members. Create a new token ${where} and enter it at your directory.`,
    ],
  };
}

/** Builds the mail about a token that expires within days. */
export function tokenExpires(domain: string, token: Named & { expires_at: string }): Said {
  return {
    heading: `A directory token of ${domain} expires soon`,
    paragraphs: [
      `From ${token.expires_at} on, the server refuses ${called(token)}.`,
      `Create a new one ${where}, enter it at your directory, and revoke the old one. Both work ` +
        'meanwhile.',
    ],
  };
}

/** Builds the mail about whether the directory manages owners. */
export function ownersManaged(domain: string, may_manage_owners: boolean, by: string): Said {
  const manages = may_manage_owners ? 'manages' : 'no longer manages';
  return {
    heading: `The directory of ${domain} ${manages} owners`,
    paragraphs: [
      may_manage_owners
        ? `${by} allowed the directory to deactivate and delete owners of your ` +
          'organization, and to reactivate owners whom it deactivated.'
        : `${by} revoked the permission: from now on, only owners change owners.`,
    ],
  };
}

/** Builds the mail about a directory that was switched off. */
export function directoryOff(domain: string, by: string): Said {
  return {
    heading: `The directory of ${domain} was switched off`,
    paragraphs: [
      `${by} switched the directory off. Its tokens, its groups and its list of deactivated ` +
        'people were deleted, so these people can be let in again. Members do not change.',
    ],
  };
}

/**
 * Builds the mail about a changed level of a group's people; `changed` is the number of people with
 * a new level.
 */
export function groupLevel(
  domain: string,
  { display_name }: GroupRow,
  level: GroupRow['level'],
  { by, changed }: { by: string; changed: number },
): Said {
  const decided =
    level === null
      ? 'no longer sets the level of its people'
      : `now makes its people ${level_names[level]}s`;
  return {
    heading: `The level of a directory group of ${domain} was changed`,
    paragraphs: [
      `${by} changed the group ${quoted(display_name)}: it ${decided}.`,
      changed === 0
        ? "Nobody's level has changed."
        : `${changed.toLocaleString('en')} ${changed === 1 ? 'member has' : 'members have'} ` +
          'another level now. If you are no owner and get this mail, you are one of them.',
    ],
  };
}

/** Builds the mail about an owner whom the directory removed or reactivated. */
export function ownerByDirectory(domain: string, email: string, is_back: boolean): Said {
  return {
    heading: `The directory of ${domain} ${is_back ? 'reactivated' : 'removed'} an owner`,
    paragraphs: [
      is_back
        ? `${email} is an owner of your organization again.`
        : `${email} was an owner of your organization and is no longer a member.`,
      `An owner allowed the directory to do this. You can revoke the permission ${where}.`,
    ],
  };
}
