import { Type } from 'typebox';
import type { Static } from 'typebox';
import { text, titled, whole } from '../../platform/http/schemas.ts';

/** The address from which web pages load a project's site apps, and the list of these apps. */
export const SiteScript = titled('SiteScript', {
  site_token: text(
    'Identifies the project in `url`. It is public, like everything that a web page loads.',
  ),
  url: text(
    'The script with all enabled site apps of the project; a page loads it with `<script ' +
      'async src="...">`.',
  ),
  apps: Type.Array(
    Type.Object({
      id: whole('Id of the config.'),
      name: Type.Union([Type.String(), Type.Null()]),
    }),
    {
      description: 'The enabled apps, in the order in which they run.',
    },
  ),
});
export type SiteScript = Static<typeof SiteScript>;
