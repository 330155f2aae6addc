// Length: a list of all routes, and a walk through them.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { inTurn } from '../depth.ts';
import { folderAroundTests } from '../around_tests.ts';
import { newConnection } from '../factories/batch_exports/connections.ts';
import { insertRunRow, newExport } from '../factories/batch_exports/batch_exports.ts';
import { newAssistant } from '../factories/assistants.ts';
import { newLakeTable } from '../factories/lake_tables.ts';
import { root } from '../house/source_files.ts';
import type { TestOrganization } from '../harness.ts';
import { openConsole } from './open_console.ts';
import { goTo, untilAnswered } from './go_to.ts';
import { checkScale } from './scale.ts';
import { checkEverywhere, lookOf, untilInPage } from './visitor.ts';
import type { Visitor } from './visitor.ts';

/** The path at which a route is visited, and a heading of its page. */
type Look = { path: string; heading: string };

const one_export = '/projects/$project_id/exports/$export_id';
const export_name = '<script>document.title = 1</script>';

const asks_for = `response_type=code&code_challenge_method=S256&code_challenge=${'x'.repeat(43)}`;

const signed_out: Record<string, Look> = {
  login_route: { path: '/login', heading: 'Sign in' },
  login_link_route: { path: '/login/link?token=x', heading: 'Sign in' },
  forgot_password_route: { path: '/forgot-password', heading: 'Forgot your password?' },
  reset_password_route: { path: '/reset-password/x', heading: 'Choose a new password' },
  invite_route: { path: '/invite/x?token=x', heading: 'This invite is not open' },
  setup_route: { path: '/setup#x', heading: 'This link is not open' },
};
const signed_in: Record<string, Look> = {
  start_route: { path: '/', heading: 'Exports' },
  verify_email_route: { path: '/verify-email/x', heading: 'Confirm your e-mail address' },
  assistant_route: {
    path: `/authorize?client_id=$client_id&${asks_for}`,
    heading: 'Let an assistant in',
  },
  account_route: { path: '/account', heading: 'Your account' },
  own_activity_route: { path: '/account/activity', heading: 'Your activity' },
  organization_keys_route: { path: '/organizations/$organization_id/keys', heading: 'API keys' },
  exports_route: { path: '/projects/$project_id/exports', heading: 'Exports' },
  new_export_route: { path: '/projects/$project_id/exports/new', heading: 'New export' },
  find_route: { path: '/projects/$project_id/find', heading: 'Find a record' },
  export_map_route: { path: one_export, heading: export_name },
  export_runs_route: { path: `${one_export}/runs`, heading: export_name },
  export_run_route: { path: `${one_export}/runs/$run_id`, heading: export_name },
  export_incident_route: { path: `${one_export}/incident`, heading: export_name },
  export_proof_route: { path: `${one_export}/proof`, heading: export_name },
  export_timeline_route: { path: `${one_export}/timeline`, heading: export_name },
  export_metrics_route: { path: `${one_export}/metrics`, heading: export_name },
  export_notices_route: { path: `${one_export}/notices`, heading: export_name },
  export_settings_route: { path: `${one_export}/settings`, heading: export_name },
  lake_route: { path: '/projects/$project_id/lake', heading: 'Lake' },
  lake_table_route: { path: '/projects/$project_id/lake/$table_id', heading: 'sales.events' },
  events_route: { path: '/projects/$project_id/events', heading: 'Events' },
  catalogue_route: { path: '/projects/$project_id/event_catalogue', heading: 'Event catalogue' },
  catalogue_properties_route: {
    path: '/projects/$project_id/event_catalogue/properties',
    heading: 'Event catalogue',
  },
  catalogue_event_route: {
    path: '/projects/$project_id/event_catalogue/event?event=order%20paid',
    heading: 'order paid',
  },
  catalogue_schema_route: {
    path: '/projects/$project_id/event_catalogue/schema',
    heading: 'Event catalogue',
  },
  ingestion_rules_route: {
    path: '/projects/$project_id/ingestion_rules',
    heading: 'Ingestion rules',
  },
  ingestion_rule_route: {
    path: '/projects/$project_id/ingestion_rules/$rule_id',
    heading: 'Hash mails',
  },
  planned_events_route: {
    path: '/projects/$project_id/tracking_plan',
    heading: 'Tracking plan',
  },
  planned_event_route: {
    path: '/projects/$project_id/tracking_plan/$planned_event_id',
    heading: 'order paid',
  },
  project_settings_route: { path: '/projects/$project_id/settings', heading: 'Project settings' },
  members_route: { path: '/organizations/$organization_id/members', heading: 'Members' },
  activity_route: { path: '/organizations/$organization_id/activity', heading: 'Activity' },
  notice_targets_route: { path: '/projects/$project_id/notices', heading: 'Notices' },
  notice_target_route: {
    path: '/projects/$project_id/notices/$target_id',
    heading: 'on-call@example.com',
  },
  plugins_route: { path: '/projects/$project_id/plugins', heading: 'Tools and plugins' },
  plugin_route: {
    path: '/projects/$project_id/plugins/pipeline_destinations/$plugin_id',
    heading: '<b>Plugin</b>',
  },
  plugin_code_route: {
    path: '/projects/$project_id/plugins/pipeline_destinations/$plugin_id/code',
    heading: 'Code of <b>Plugin</b>',
  },
  downloads_route: { path: '/projects/$project_id/downloads', heading: 'Downloads' },
  erasures_route: { path: '/projects/$project_id/erasures', heading: 'Erasures' },
  erasure_route: { path: '/projects/$project_id/erasures/$erasure_id', heading: 'Erasure' },
  connections_route: {
    path: '/organizations/$organization_id/connections',
    heading: 'Connections',
  },
  connection_route: {
    path: '/organizations/$organization_id/connections/$connection_id',
    heading: 'Warehouse',
  },
  domains_route: { path: '/organizations/$organization_id/domains', heading: 'Domains' },
  domain_route: {
    path: '/organizations/$organization_id/domains/$domain_id',
    heading: 'console.example.com',
  },
  security_route: { path: '/organizations/$organization_id/security', heading: 'Security' },
  configuration_route: {
    path: '/organizations/$organization_id/configuration',
    heading: 'Configuration',
  },
  organization_settings_route: {
    path: '/organizations/$organization_id/settings',
    heading: 'Organization settings',
  },
};
/** Routes that redirect to another one, because their address is incomplete. */
const leading_on: Record<string, Look> = {
  project_index_route: { path: '/projects/$project_id', heading: 'Exports' },
  confirm_route: { path: '/confirm?next=%2Faccount', heading: 'Your account' },
  organization_index_route: { path: '/organizations/$organization_id', heading: 'Members' },
};
/** Routes that only surround others. */
const around = [
  'root_route',
  'signed_in_route',
  'project_route',
  'export_frame_route',
  'organization_route',
];

let home: TestOrganization;
/**
 * The visitor of the routes: one after the other uses the browser that the last one left. A visitor
 * for each route, or two at a time, would load all scripts again.
 */
let visiting: { who: 'nobody' | 'somebody'; visitor: Visitor } | undefined;
/** The values of parameters in the paths. */
let ids: Record<string, string>;
const export_dir = folderAroundTests();
const world = openConsole({
  clickhouse: true,
  config: { export_dir },
  opened: async (harness) => {
    home = await harness.newOrganization({ name: `<b>Home</b> & "others"` });
    const { id } = await newExport(home, { name: export_name });
    await newLakeTable(home, 'sales');
    const tables = await home.ask('GET', `/api/projects/${home.project.id}/lake_tables/`);
    const in_organization = `/api/organizations/${home.organization.id}`;
    ids = {
      $project_id: String(home.project.id),
      $organization_id: home.organization.id,
      $export_id: id,
      $client_id: (await newAssistant(harness)).client_id,
      $table_id: tables.body.results[0].id,
      $run_id: await insertRunRow(harness, id, { status: 'Failed' }),
      $domain_id: await create(`${in_organization}/domains/`, { domain: 'console.example.com' }),
      $connection_id: (await newConnection(home)).id,
      $target_id: await create(`/api/projects/${home.project.id}/notice_targets/`, {
        type: 'email',
        address: 'on-call@example.com',
      }),
      $rule_id: await create(`/api/projects/${home.project.id}/ingestion_rules/`, {
        name: 'Hash mails',
        action: 'hash_property',
        property: 'email',
      }),
      $planned_event_id: await create(`/api/projects/${home.project.id}/planned_events/`, {
        event: 'order paid',
      }),
      $erasure_id: await create(`/api/projects/${home.project.id}/erasures/`, {
        distinct_ids: ['ada'],
      }),
      $plugin_id: await create(`${in_organization}/pipeline_destinations/`, {
        name: '<b>Plugin</b>',
      }),
    };
  },
  closing: leaveRoutes,
});
const { skip } = world;

async function visitRoutes(who: 'nobody' | 'somebody'): Promise<Visitor> {
  if (visiting?.who !== who) {
    await leaveRoutes();
    visiting = { who, visitor: await world.visit(who === 'somebody' ? home.user : undefined) };
  }
  return visiting.visitor;
}

async function leaveRoutes(): Promise<void> {
  const { visitor } = visiting ?? {};
  visiting = undefined;
  await visitor?.leave();
}

async function create(path: string, body: object): Promise<string> {
  const answer = await home.ask('POST', path, body);
  assert.equal(answer.status, 201);
  return String(answer.body.id);
}

test('every route of the router is looked at here', () => {
  const text = readFileSync(join(root, 'console/router.ts'), 'utf8');
  const tree = /const routes = ([\s\S]*?\n\]\));/.exec(text)?.[1] ?? assert.fail('no tree');
  const named = [...tree.matchAll(/\w+_route\b/g)].map(([name]) => name);
  assert.deepEqual(
    named.toSorted(),
    [...Object.keys({ ...signed_out, ...signed_in, ...leading_on }), ...around].toSorted(),
    'Write into `signed_out` or `signed_in` where the route is looked at.',
  );
});

for (const [routes, who] of [
  [signed_out, 'nobody'],
  [signed_in, 'somebody'],
] as const)
  // The pages of the other half are opened by the tests of their nouns.
  for (const [name, { path, heading }] of inTurn(Object.entries(routes), 2))
    test(
      `${name}, where ${who} is signed in, keeps the rules of axe-core and the scale`,
      { skip },
      async () => {
        const { page, complaints } = await visitRoutes(who);
        await goTo(
          page,
          path.replaceAll(/\$\w+/g, (name) => ids[name]!),
        );
        await page.getByRole('heading', { name: heading, level: 1 }).waitFor();
        await untilAnswered(page);
        await checkEverywhere(page, name, [lookOf(name)]);
        await checkScale(page);
        assert.deepEqual(complaints, []);
      },
    );

test('an address that was cut off leads on', { skip }, async () => {
  const { page } = await visitRoutes('somebody');
  for (const { path, heading } of Object.values(leading_on)) {
    await goTo(
      page,
      path.replaceAll(/\$\w+/g, (name) => ids[name]!),
    );
    await page.getByRole('heading', { name: heading, level: 1 }).waitFor();
  }
});

test('a record that is not there leads to those that are', { skip }, async () => {
  const { page, complaints } = await visitRoutes('somebody');
  for (const [name, link] of [
    ['notice_target_route', 'Notice targets of this project'],
    ['erasure_route', 'The erasures of this project'],
    ['plugin_route', 'The plugins of this project'],
    ['connection_route', 'The connections of this organization'],
    ['domain_route', 'The domains of this organization'],
  ] as const) {
    const { path } = signed_in[name]!;
    const last = path.split('/').findLast((part) => part.startsWith('$'))!;
    const known = { ...ids, [last]: '00000000-0000-4000-8000-000000000000' };
    await goTo(
      page,
      path.replaceAll(/\$\w+/g, (one) => known[one]!),
    );
    await page.getByRole('alert').getByRole('link', { name: link }).click();
    await page.waitForURL((url) => !url.pathname.includes('/00000000-'));
  }
  assert.deepEqual(complaints, []);
});

test('navigation, menus and switcher are used with the keyboard alone', { skip }, async () => {
  await leaveRoutes();
  const { page, leave } = await world.visit(home.user);
  await page.goto(`/projects/${home.project.id}/exports`);
  await page.getByRole('heading', { name: 'Exports' }).waitFor();
  const press = async (...keys: string[]) => {
    for (const key of keys) await page.keyboard.press(key);
  };
  await press('Tab');
  assert.equal(await page.evaluate('document.activeElement.textContent'), 'To the content');
  await press('Tab', 'Enter');
  await page.getByRole('menuitem', { name: /project/i }).waitFor();
  // The menu takes the focus after it is shown: closed before, it would have nothing to give back.
  await untilInPage(page, "document.activeElement.closest('[role=menu]') !== null");
  await press('Escape');
  // The focus goes back with the next frame, which a busy machine draws late.
  await untilInPage(page, "document.activeElement.getAttribute('aria-haspopup') === 'menu'");
  await press('Tab', 'Tab', 'Tab', 'Tab', 'Enter');
  await page.waitForURL('**/events');
  await page.getByRole('heading', { name: 'Events', level: 1 }).waitFor();
  // Reading goes on there.
  await untilInPage(page, "document.activeElement.id === 'main'");
  await page.getByRole('button', { name: home.user.email }).focus();
  await press('Enter');
  await page.getByRole('menuitem', { name: 'Dark' }).focus();
  await press('Enter');
  assert.equal(await page.evaluate('document.documentElement.dataset.mantineColorScheme'), 'dark');
  await page.reload();
  await page.getByRole('heading', { name: 'Events', level: 1 }).waitFor();
  assert.equal(await page.evaluate('document.documentElement.dataset.mantineColorScheme'), 'dark');
  // Paper is white, and browsers leave the backgrounds out.
  await page.emulateMedia({ media: 'print' });
  assert.equal(
    await page.evaluate("getComputedStyle(document.querySelector('h1')).color"),
    'rgb(0, 0, 0)',
  );
  assert.equal(await page.getByRole('navigation').first().isVisible(), false);
  await page.emulateMedia({ media: null });
  await leave();
});
