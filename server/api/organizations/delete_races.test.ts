import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import sql from 'sql-template-tag';
import { newExport } from '../../../test/factories/batch_exports/batch_exports.ts';
import { eventually } from '../../../test/eventually.ts';
import type { Answer } from '../../../test/harness.ts';
import { shareHarness } from '../../../test/harness.ts';
import { countWaiting } from '../../../test/watchers/waiting_statements.ts';

const harness = shareHarness({ clickhouse: false });

const isWaiting = async () => (await countWaiting(harness.deps.db)) > 0;

test('deleting an organization or project waits for writers before it takes theirs', async () => {
  for (const table of ['organizations', 'projects'] as const) {
    const { key, user, organization, project } = await harness.newOrganization();
    const id = table === 'organizations' ? organization.id : String(project.id);
    const deleting = await harness.deps.db.transaction(async (tx) => {
      // Takes the locks of a write: the one that every write takes first, and the one for a new row
      // under the organization or project.
      await tx.row(sql`SELECT 1 FROM members WHERE user_id = ${user.id} FOR SHARE`);
      const begun = harness.request('DELETE', `/api/${table}/${id}/`, { key });
      await eventually('The deletion does not wait.', isWaiting);
      await tx.text("SET LOCAL lock_timeout = '5s'");
      await tx.text(`SELECT 1 FROM ${table} WHERE id::text = '${id}' FOR KEY SHARE`);
      return { begun };
    });
    assert.equal((await deleting.begun).status, 204);
  }
});

test('a dry run of a deletion removes nothing and waits for nobody', async () => {
  const home = await harness.newOrganization();
  const { key, user, organization, project } = home;
  const created = await newExport(home);
  await harness.deps.db.transaction(async (tx) => {
    // As a write under way, and a worker with a run.
    await tx.row(sql`SELECT 1 FROM members WHERE user_id = ${user.id} FOR SHARE`);
    await tx.row(sql`SELECT 1 FROM batch_exports WHERE id = ${created.id} FOR UPDATE`);
    for (const path of [`organizations/${organization.id}`, `projects/${project.id}`]) {
      const asked = harness.request('DELETE', `/api/${path}/?validate_only=true`, { key });
      // Without a hold on the process, which may end sooner.
      const given_up = pause(60_000, undefined, { ref: false });
      const answer = await Promise.race([asked, given_up]);
      assert.equal(answer?.status, 204, path);
    }
  });
});

test('a write that waits while its project is deleted is a 404', async () => {
  const { key, user, project } = await harness.newOrganization();
  const list = `/api/projects/${project.id}/notice_targets/`;
  const body = { type: 'webhook', url: 'https://hooks.example/', events: ['failing'] };
  const begun = await harness.deps.db.transaction(async (tx) => {
    // As the deletion of a project holds writers back.
    await tx.row(sql`SELECT 1 FROM members WHERE user_id = ${user.id} FOR UPDATE`);
    const writes = [
      harness.request('POST', list, { key, body }),
      harness.request('POST', `/api/projects/${project.id}/plugin_configs/`, {
        key,
        body: { plugin: 1, enabled: false },
      }),
    ];
    await eventually('The writes do not wait.', isWaiting);
    await tx.run(sql`DELETE FROM projects WHERE id = ${project.id}`);
    return { writes };
  });
  for (const write of begun.writes) assert.equal((await write).status, 404);
});

test('deletions of an organization hold one connection, all new projects three', async () => {
  const { key, organization, project } = await harness.newOrganization();
  const others = [
    await harness.newMember(organization.id, 8),
    await harness.newMember(organization.id, 8),
  ];
  const gone = `/api/organizations/${organization.id}/?validate_only=true`;
  const projects = '/api/projects/?validate_only=true';
  const deletions = () => [
    harness.request('DELETE', gone, { key }),
    harness.request('DELETE', gone, { key }),
    harness.request('DELETE', `/api/projects/${project.id}/?validate_only=true`, { key }),
  ];
  const creations = () =>
    others.flatMap((other) =>
      [organization.id, undefined, undefined].map((id) =>
        harness.request('POST', projects, {
          key: other.key,
          body: { name: 'New', organization: id },
        }),
      ),
    );
  const cases: [() => Promise<Answer>[], number, number][] = [
    [deletions, 1, 204],
    [creations, 3, 200],
  ];
  for (const [ask, most, status] of cases) {
    const begun = await harness.deps.db.transaction(async (tx) => {
      // As an apply of the organization holds it.
      await tx.row(sql`SELECT 1 FROM organizations WHERE id = ${organization.id}::uuid
        FOR NO KEY UPDATE`);
      const all = ask();
      await eventually('Too few wait.', async () => (await countWaiting(harness.deps.db)) >= most);
      await pause(100);
      assert.equal(await countWaiting(harness.deps.db), most);
      return { all };
    });
    for (const answer of begun.all) assert.equal((await answer).status, status);
  }
});
