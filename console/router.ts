import type { QueryClient } from '@tanstack/react-query';
import { createRouter } from '@tanstack/react-router';
import { base_path } from './http/address.ts';
import { activity_route, own_activity_route } from './activity/routes.ts';
import { assistant_route, organization_keys_route } from './api_keys/routes.ts';
import {
  export_frame_route,
  export_map_route,
  export_metrics_route,
  export_notices_route,
  export_proof_route,
  export_incident_route,
  export_run_route,
  export_runs_route,
  export_settings_route,
  export_timeline_route,
  find_route,
} from './batch_exports/one_export_routes.ts';
import { exports_route, new_export_route } from './batch_exports/routes.ts';
import { connection_route, connections_route } from './connections/routes.ts';
import { domain_route, domains_route, setup_route } from './domains/routes.ts';
import { erasure_route, erasures_route } from './erasures/routes.ts';
import { downloads_route } from './file_downloads/routes.ts';
import {
  catalogue_event_route,
  catalogue_properties_route,
  catalogue_route,
  catalogue_schema_route,
} from './event_catalogue/routes.ts';
import { events_route } from './events/routes.ts';
import { lake_route, lake_table_route } from './lake_tables/routes.ts';
import { ingestion_rule_route, ingestion_rules_route } from './ingestion_rules/routes.ts';
import { invite_route } from './invites/routes.ts';
import { members_route } from './members/routes.ts';
import { notice_target_route, notice_targets_route } from './notice_targets/routes.ts';
import {
  configuration_route,
  organization_index_route,
  organization_route,
  organization_settings_route,
} from './organizations/routes.ts';
import { planned_event_route, planned_events_route } from './planned_events/routes.ts';
import { plugin_code_route, plugin_route, plugins_route } from './plugins/routes.ts';
import { project_index_route, project_route, project_settings_route } from './projects/routes.ts';
import { security_route } from './security/routes.ts';
import { ConfirmPlace } from './sessions/confirm_place.tsx';
import { confirm_route, login_link_route, login_route } from './sessions/routes.ts';
import { current_session } from './signed_in/sessions.ts';
import { root_route } from './shell/root_route.ts';
import { signed_in_route } from './shell/signed_in_route.ts';
import { account } from './signed_in/account.ts';
import {
  account_route,
  forgot_password_route,
  reset_password_route,
  verify_email_route,
} from './users/routes.ts';
import { start_route } from './batch_exports/start_route.ts';

/** Every page of the console, one line each. */
const routes = root_route.addChildren([
  login_route,
  login_link_route,
  confirm_route,
  forgot_password_route,
  reset_password_route,
  verify_email_route,
  invite_route,
  setup_route,
  assistant_route,
  signed_in_route.addChildren([
    start_route,
    account_route,
    own_activity_route,
    project_route.addChildren([
      project_index_route,
      exports_route,
      new_export_route,
      export_frame_route.addChildren([
        export_map_route,
        export_runs_route,
        export_run_route,
        export_incident_route,
        export_proof_route,
        export_timeline_route,
        export_metrics_route,
        export_notices_route,
        export_settings_route,
      ]),
      find_route,
      lake_route,
      lake_table_route,
      events_route,
      catalogue_route,
      catalogue_properties_route,
      catalogue_event_route,
      catalogue_schema_route,
      ingestion_rules_route,
      ingestion_rule_route,
      planned_events_route,
      planned_event_route,
      notice_targets_route,
      notice_target_route,
      plugins_route,
      plugin_route,
      plugin_code_route,
      downloads_route,
      erasures_route,
      erasure_route,
      project_settings_route,
    ]),
    organization_route.addChildren([
      organization_index_route,
      members_route,
      activity_route,
      organization_keys_route,
      configuration_route,
      connections_route,
      connection_route,
      domains_route,
      domain_route,
      security_route,
      organization_settings_route,
    ]),
  ]),
]);

/** Parses the query string: texts and numbers exactly as written. */
const parseSearch = (text: string) => Object.fromEntries(new URLSearchParams(text));
const stringifySearch = (search: Record<string, unknown>) => {
  const given = Object.entries(search).flatMap(([name, value]) =>
    typeof value === 'number' || (typeof value === 'string' && value !== '')
      ? [[name, `${value}`]]
      : [],
  );
  const text = new URLSearchParams(given).toString();
  return text === '' ? '' : `?${text}`;
};

/** The router over all pages. */
export function openRouter(queries: QueryClient) {
  const router = createRouter({
    routeTree: routes,
    basepath: base_path,
    context: {
      queries,
      signedOut: () => {
        // Next location of the router, because several answers may request the same one at once.
        const { pathname, href } = router.latestLocation;
        const is_inside = router.state.matches.some(
          ({ routeId }) => routeId === signed_in_route.id,
        );
        if (!is_inside || pathname === '/login') return;
        for (const { queryKey } of [account, current_session]) queries.removeQueries({ queryKey });
        void router.navigate({ to: '/login', search: { next: href, ended: 1 }, replace: true });
      },
    },
    InnerWrap: ConfirmPlace,
    parseSearch,
    // Unknown parameters are left out, by `validateSearch`.
    search: { strict: true },
    stringifySearch,
    scrollRestoration: true,
    defaultPreload: 'intent',
    // Another project or record remounts the page: selections, ticked boxes and answers of the last
    // one disappear. A page behind a link removes its token from the address, and stays mounted.
    defaultRemountDeps: ({ routeId, params }) =>
      routeId.startsWith(signed_in_route.id) ? params : undefined,
  });
  return router;
}

declare module '@tanstack/react-router' {
  interface Register {
    router: ReturnType<typeof openRouter>;
  }
}
