import { folder, setting, text, url, whole } from './values.ts';

const web = url('https:', 'http:');

/** Settings for the sources of plugins, and for running them. */
export const plugin_settings = {
  plugin_dir: setting(
    'SLUICE_PLUGIN_DIR',
    './plugins',
    folder,
    'Folder whose subfolders are `local` plugins.',
  ),
  plugin_catalogue: setting(
    'SLUICE_PLUGIN_CATALOGUE',
    '',
    folder,
    'JSON file that lists the `repository` plugins, as in docs/plugins/origins.md. Default: ' +
      'the catalogue of the server.',
  ),
  npm_registry_url: setting(
    'SLUICE_NPM_REGISTRY_URL',
    'https://registry.npmjs.org',
    web,
    'Registry that npm packages of plugins come from.',
  ),
  npm_token: setting(
    'SLUICE_NPM_TOKEN',
    '',
    text,
    'Secret token for that registry, for private packages. Everybody who may install plugins ' +
      'can read the packages of this token, so give it read access only.',
  ),
  github_url: setting(
    'SLUICE_GITHUB_URL',
    'https://github.com',
    web,
    'Address of the GitHub whose repositories hold plugins.',
  ),
  github_api_url: setting(
    'SLUICE_GITHUB_API_URL',
    'https://api.github.com',
    web,
    'Address of the REST API of that GitHub; `https://<host>/api/v3` for GitHub Enterprise.',
  ),
  github_token: setting(
    'SLUICE_GITHUB_TOKEN',
    '',
    text,
    'Secret token for that GitHub, for private repositories and more requests an hour; as ' +
      '`SLUICE_NPM_TOKEN`.',
  ),
  gitlab_token: setting(
    'SLUICE_GITLAB_TOKEN',
    '',
    text,
    'Secret token for the GitLab of `SLUICE_GITLAB_URL`, for private projects; as ' +
      '`SLUICE_NPM_TOKEN`.',
  ),
  plugin_failures_max: setting(
    'SLUICE_PLUGIN_FAILURES_MAX',
    '10',
    whole(1, 1_000),
    'After how many failures in a row the server stops a plugin in a project, with the reason ' +
      'in the `error` of its config.',
  ),
  plugins_max: setting(
    'SLUICE_PLUGINS_MAX',
    '16',
    whole(1, 1_000),
    'How many plugin configs one process with a worker has loaded at a time; others wait for ' +
      'their turn.',
  ),
};
