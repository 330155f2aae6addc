import { buildApp } from '../../server/app.ts';
import type { Deps } from '../../server/deps.ts';
import { collectRoutes } from '../watchers/registered_routes.ts';
import type { RegisteredRoute } from '../watchers/registered_routes.ts';

let known: Promise<RegisteredRoute[]> | undefined;

/**
 * The routes of the whole application, which are the same in every app of a process. They are
 * collected from an app beside the harness's own. If a test built its own app, that app would
 * create its OpenAPI document, and the checks of its answers, again for each file.
 */
export function everyRoute(deps: Deps): Promise<RegisteredRoute[]> {
  return (known ??= collect(deps));
}

async function collect(deps: Deps): Promise<RegisteredRoute[]> {
  const app = buildApp(deps);
  const registered = collectRoutes(app);
  await app.ready();
  const routes = registered();
  await app.close();
  return routes;
}
