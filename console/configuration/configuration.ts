import type { KindName } from '../../server/api/managed/schema.ts';
import { pathTo } from '../http/path.ts';
import { reading } from '../http/reading.ts';

/** Reads the objects that configurations manage in an organization, with the changes since. */
export function managedObjects(organization_id: string) {
  return reading(
    pathTo('/api/organizations/:organization_id/configuration/objects/', { organization_id }),
  );
}

/** One object in the form of files. */
export function objectAsFiles(organization_id: string, kind: KindName, id: string) {
  return reading(
    pathTo('/api/organizations/:organization_id/configuration/', { organization_id }, { kind, id }),
  );
}

/** The latest applies, newest first. */
export function applies(organization_id: string) {
  return reading(
    pathTo(
      '/api/organizations/:organization_id/activity/',
      { organization_id },
      { scope: 'configuration', limit: 10 },
    ),
  );
}
