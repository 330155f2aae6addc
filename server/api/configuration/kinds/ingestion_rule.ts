import { IngestionRuleCreate } from '../../ingestion_rules/schema.ts';
import { listRulesOf } from '../../ingestion_rules/store.ts';
import { pick, plain_kind } from './kind.ts';
import type { Kind } from './kind.ts';

const names = Object.keys(IngestionRuleCreate.properties);

/** Rules that drop, hash, rename and set properties before an event is stored. */
export const ingestion_rule: Kind = {
  ...plain_kind,
  name: 'ingestion_rule',
  section: 'ingestion_rules',
  parent: 'project',
  right: 'project',
  listUrl: ({ parent_id }) => `/api/projects/${parent_id}/ingestion_rules/`,
  schema: IngestionRuleCreate,
  defaults: {
    events: [],
    property: null,
    new_name: null,
    value: null,
    only_if_missing: false,
    enabled: true,
  },
  read: async ({ db, organization_id }) =>
    (await listRulesOf(db, organization_id)).map((rule) => ({
      id: rule.id,
      parent_id: String(rule.team_id),
      name: rule.name,
      fields: pick(rule, names),
      secrets: {},
    })),
};
