import { pathTo } from '../../http/path.ts';

/**
 * Returns the paths of a new export, or of the one with the id: to save, to test, and to forecast a
 * change.
 */
export function pathsOf(project_id: string, id: string | undefined) {
  if (id === undefined)
    return {
      sent: pathTo('/api/projects/:project_id/batch_exports/', { project_id }),
      test: pathTo('/api/projects/:project_id/batch_exports/test/', { project_id }),
      preview: pathTo('/api/projects/:project_id/batch_exports/preview/', { project_id }),
      effect: undefined,
    };
  const ids = { project_id, id };
  return {
    sent: pathTo('/api/projects/:project_id/batch_exports/:id/', ids),
    test: pathTo('/api/projects/:project_id/batch_exports/:id/test/', ids),
    preview: pathTo('/api/projects/:project_id/batch_exports/:id/preview/', ids),
    effect: pathTo('/api/projects/:project_id/batch_exports/:id/effect/', ids),
  };
}
