import assert from 'node:assert/strict';
import { test } from 'node:test';
import { listSourceFiles } from '../../test/house/source_files.ts';
import { organization_scopes, own_scopes } from './scope_words.ts';

/** The rights of routes, which the code calls scopes too. */
const rights = ['public', 'any', 'odd'];

test('the filter of each log offers the kinds that it can have, and no others', () => {
  const logs: Record<'organization' | 'own', Set<string>> = {
    organization: new Set(),
    own: new Set(),
  };
  for (const { path, text } of listSourceFiles()) {
    if (!/^server\/(api|engine)\//.test(path) || path.endsWith('.test.ts')) continue;
    const is_own = /\{ user_uuid(:| \})/.test(text);
    // An entry without a chain of its own is one of the organization that the path names.
    const is_of_organization = !is_own || /\{ organization_id(:| \})/.test(text);
    for (const [, scope = ''] of text.matchAll(/\b(?:scope: |entryWriter\(\s*)'(\w+)',/g)) {
      if (is_own) logs.own.add(scope);
      if (is_of_organization) logs.organization.add(scope);
    }
  }
  const all = [...logs.organization, ...logs.own].filter((scope) => !rights.includes(scope));
  for (const scope of all)
    assert.ok(scope in organization_scopes || scope in own_scopes, `${scope} has no word`);
  const named_by_a_variable = /^pipeline_|^write_key$|^invite$/;
  for (const scope of Object.keys(organization_scopes))
    if (!named_by_a_variable.test(scope))
      assert.ok(logs.organization.has(scope), `no entry of an organization is of "${scope}"`);
  for (const scope of Object.keys(own_scopes)) assert.ok(logs.own.has(scope), scope);
});
