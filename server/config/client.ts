import { exactUrl, setting, text } from './values.ts';

/** Settings of commands that ask a server (`sluice exports`). A server ignores them. */
export const client_settings = {
  client_url: setting(
    'SLUICE_URL',
    '',
    exactUrl('http:', 'https:'),
    'Address of the server for commands such as `sluice exports` (docs/cli.md). Default: the ' +
      'address of the profile in use, otherwise `SLUICE_PUBLIC_URL`.',
  ),
  client_api_key: setting(
    'SLUICE_API_KEY',
    '',
    text,
    'Personal API key of these commands. Default: the key of the profile for this address, ' +
      'otherwise `SLUICE_OWNER_API_KEY`.',
  ),
  client_profile: setting(
    'SLUICE_PROFILE',
    '',
    text,
    'Profile that these commands use; `sluice login` writes it. Default: the one in use.',
  ),
};
