import { fetchProtectedResource, fetchUserInfo } from 'openid-client';
import type {
  Configuration,
  TokenEndpointResponse,
  TokenEndpointResponseHelpers,
} from 'openid-client';
import { Type } from 'typebox';
import { isAddress } from '../../../platform/mail/mailbox.ts';
import type { OpenidProvider } from '../../../platform/openid_providers.ts';
import { shapeOf } from '../../../platform/shape.ts';
import type { Shape } from '../../../platform/shape.ts';
import { SignInRefused } from '../refusal.ts';

/**
 * The person whom a provider vouches for: their id there, and their verified addresses, at least
 * one, in lower-case ASCII, the main one first.
 */
export type OpenidPerson = {
  subject: string;
  addresses: string[];
  first_name?: string;
  last_name?: string;
};

type Tokens = TokenEndpointResponse & TokenEndpointResponseHelpers;

const github_api = 'https://api.github.com';
const name_characters_max = 150;
const address_characters_max = 254;

const claims_shape = shapeOf(
  Type.Object({
    email: Type.Optional(Type.String()),
    email_verified: Type.Optional(Type.Boolean()),
    given_name: Type.Optional(Type.String()),
    family_name: Type.Optional(Type.String()),
  }),
);
const github_user = shapeOf(
  Type.Object({
    id: Type.Integer(),
    name: Type.Optional(Type.Union([Type.String(), Type.Null()])),
  }),
);
const github_emails = shapeOf(
  Type.Array(
    Type.Object({ email: Type.String(), primary: Type.Boolean(), verified: Type.Boolean() }),
  ),
);

/**
 * Returns the person of a verified ID token, as the provider's userinfo describes them. Google only
 * vouches for addresses that it hosts: gmail.com, or a Workspace (`hd`). For others it only knows
 * that somebody once read mail there. Throws `SignInRefused`.
 */
export async function readOpenidPerson(
  configuration: Configuration,
  provider: OpenidProvider,
  tokens: Tokens,
): Promise<OpenidPerson> {
  const claims = tokens.claims();
  if (claims === undefined)
    throw new SignInRefused('provider_answer', 'The provider sent no ID token.');
  const info = matching(
    claims_shape,
    await fetchUserInfo(configuration, tokens.access_token, claims.sub),
  );
  const isHosted =
    provider !== 'google-oauth2' ||
    typeof claims['hd'] === 'string' ||
    /@gmail\.com$/i.test(info.email ?? '');
  const given =
    info.email !== undefined && info.email_verified === true && isHosted ? [info.email] : [];
  return personOf(claims.sub, given, info.given_name, info.family_name);
}

/**
 * Returns the person from GitHub's API, with all addresses that GitHub has verified. Throws
 * `SignInRefused`.
 */
export async function readGithubPerson(
  configuration: Configuration,
  { access_token }: Tokens,
): Promise<OpenidPerson> {
  const ask = async <Answer>(path: string, shape: Shape<Answer>): Promise<Answer> => {
    const headers = new Headers({ accept: 'application/vnd.github+json', 'user-agent': 'sluice' });
    const response = await fetchProtectedResource(
      configuration,
      access_token,
      new URL(`${github_api}${path}`),
      'GET',
      undefined,
      headers,
    );
    if (response.status !== 200)
      throw new SignInRefused(
        'provider_answer',
        `GitHub answered ${path} with ${response.status}.`,
      );
    return matching(shape, await response.json());
  };
  const user = await ask('/user', github_user);
  const emails = await ask('/user/emails', github_emails);
  const verified = emails
    .filter((one) => one.verified)
    .sort((one, other) => Number(other.primary) - Number(one.primary));
  const [first_name, ...more] = (user.name ?? '').trim().split(/\s+/);
  return personOf(
    String(user.id),
    verified.map(({ email }) => email),
    first_name,
    more.join(' '),
  );
}

function personOf(subject: string, given: string[], first_name = '', last_name = ''): OpenidPerson {
  const addresses = given.filter(isPlainAddress).map((address) => address.toLowerCase());
  if (addresses.length === 0)
    throw new SignInRefused(
      'email_missing',
      'The provider vouches for no usable e-mail address of the person.',
    );
  return {
    subject,
    addresses,
    ...named('first_name', first_name),
    ...named('last_name', last_name),
  };
}

/**
 * Only ASCII: other letters compare equal to ASCII letters, and the address decides which account
 * is opened.
 */
function isPlainAddress(text: string): boolean {
  return (
    text.length <= address_characters_max && /^[\u0021-\u007e]+$/.test(text) && isAddress(text)
  );
}

function named<Name extends string>(name: Name, text: string): Partial<Record<Name, string>> {
  const line = [...text.replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, ' ').trim()]
    .slice(0, name_characters_max)
    .join('');
  return (line === '' ? {} : { [name]: line }) as Partial<Record<Name, string>>;
}

function matching<Answer>(shape: Shape<Answer>, answer: unknown): Answer {
  if (!shape.is(answer))
    throw new SignInRefused(
      'provider_answer',
      'The provider described the person in an undocumented form.',
    );
  return answer;
}
