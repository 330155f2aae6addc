import { tellAccounts } from './accounts.ts';
import { tellConfiguration } from './configuration.ts';
import { tellDomains } from './domains.ts';
import { tellEvents } from './events.ts';
import { tellExports } from './exports.ts';
import { tellNotices } from './notices.ts';
import { tellOrganizations } from './organizations.ts';
import { tellPlugins } from './plugins.ts';

/** All stories, in an order in which they can run in one world. */
export const stories = {
  tellOrganizations,
  tellExports,
  tellNotices,
  tellEvents,
  tellPlugins,
  tellDomains,
  tellAccounts,
  tellConfiguration,
};
