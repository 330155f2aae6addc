import type { Config } from '../../config/config.ts';
import { readCatalogue } from '../../engine/plugins/packages/catalogue.ts';
import { UserError } from '../user_error.ts';

/**
 * Looks at the files that the settings name, before anything is started. Throws a `UserError` that
 * names the setting where one is wrong without which an API cannot begin.
 */
export function lookAtNamedFiles({ plugin_catalogue }: Config): void {
  try {
    readCatalogue(plugin_catalogue);
  } catch (error) {
    throw new UserError(`SLUICE_PLUGIN_CATALOGUE: ${(error as Error).message}`);
  }
}
