import type { QueryClient } from '@tanstack/react-query';
import { createRootRouteWithContext } from '@tanstack/react-router';
import { CouldNotBeShown, NoSuchPage } from './dead_ends.tsx';

/** The context of routes while they load. */
export type RouteContext = {
  queries: QueryClient;
  /** Leads a person who is no longer signed in to the sign-in, and back afterwards. */
  signedOut: () => void;
};

/** Parent of all routes. */
export const root_route = createRootRouteWithContext<RouteContext>()({
  errorComponent: CouldNotBeShown,
  notFoundComponent: NoSuchPage,
});
