import { Type } from 'typebox';
import type { Static } from 'typebox';

/** The address from which web pages load a project's site apps, and the list of these apps. */
export const SiteScript = Type.Object(
  {
    site_token: Type.String({
      description:
        'Identifies the project in `url`. It is public, like everything that a web page loads.',
    }),
    url: Type.String({
      description:
        'The script with all enabled site apps of the project; a page loads it with `<script ' +
        'async src="...">`.',
    }),
    apps: Type.Array(
      Type.Object({
        id: Type.Integer({ description: 'Id of the config.' }),
        name: Type.Union([Type.String(), Type.Null()]),
      }),
      {
        description: 'The enabled apps, in the order in which they run.',
      },
    ),
  },
  { title: 'SiteScript' },
);
export type SiteScript = Static<typeof SiteScript>;
