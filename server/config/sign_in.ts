import { choice, exactUrl, setting, text, url } from './values.ts';

/**
 * Settings for creating organizations, and for the OpenID providers of people. A provider is
 * offered when its id and secret are set; one alone is refused.
 */
export const sign_in_settings = {
  organization_creation: setting(
    'SLUICE_ORGANIZATION_CREATION',
    'members',
    choice('owner', 'members', 'anyone'),
    'Who may create organizations. `owner`: owners of one on this server; `members`: members of ' +
      'one; `anyone`: everybody with an account. While the server has no organization, anyone ' +
      'with an account may.',
  ),
  google_client_id: setting(
    'SLUICE_GOOGLE_CLIENT_ID',
    '',
    text,
    'Id of this server as an OAuth client of Google; with the secret, people can sign in with ' +
      'Google.',
  ),
  google_client_secret: setting(
    'SLUICE_GOOGLE_CLIENT_SECRET',
    '',
    text,
    'Secret of this server as an OAuth client of Google.',
  ),
  github_client_id: setting(
    'SLUICE_GITHUB_CLIENT_ID',
    '',
    text,
    'Id of this server as an OAuth app of GitHub; with the secret, people can sign in with GitHub.',
  ),
  github_client_secret: setting(
    'SLUICE_GITHUB_CLIENT_SECRET',
    '',
    text,
    'Secret of this server as an OAuth app of GitHub.',
  ),
  gitlab_client_id: setting(
    'SLUICE_GITLAB_CLIENT_ID',
    '',
    text,
    'Id of this server as an application of GitLab; with the secret, people can sign in with ' +
      'GitLab.',
  ),
  gitlab_client_secret: setting(
    'SLUICE_GITLAB_CLIENT_SECRET',
    '',
    text,
    'Secret of this server as an application of GitLab.',
  ),
  gitlab_url: setting(
    'SLUICE_GITLAB_URL',
    'https://gitlab.com',
    url('https:', 'http:'),
    'Address of the GitLab for sign-in and for plugins in its projects. Projects of gitlab.com ' +
      'work too.',
  ),
  openid_issuer: setting(
    'SLUICE_OPENID_ISSUER',
    '',
    exactUrl('https:', 'http:'),
    'Issuer of any other OpenID Connect provider (Keycloak, Okta, Auth0, ...), exactly as it ' +
      'names itself; with id and secret, people can sign in with it.',
  ),
  openid_client_id: setting(
    'SLUICE_OPENID_CLIENT_ID',
    '',
    text,
    'Id of this server as a client of the provider of `SLUICE_OPENID_ISSUER`.',
  ),
  openid_client_secret: setting(
    'SLUICE_OPENID_CLIENT_SECRET',
    '',
    text,
    'Secret of this server as a client of the provider of `SLUICE_OPENID_ISSUER`.',
  ),
};
