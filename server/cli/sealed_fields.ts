import { planContext } from '../api/configuration/store.ts';
import { pluginOriginContext } from '../api/plugins/store.ts';
import { totpSealContext } from '../api/users/store.ts';
import { connectionContext, secretsContext } from '../engine/model/destination/stored_config.ts';
import { criteriaContext } from '../engine/privacy/erasures/criteria.ts';
import { secretContext } from '../engine/notices/outbox.ts';
import { hashKeyContext } from '../engine/ingest/rules/find_intake.ts';
import { urlContext } from '../engine/notices/webhook_url.ts';
import { applicationContext } from '../engine/plugins/oauth/application.ts';
import { tokensContext } from '../engine/plugins/oauth/connection.ts';
import { toolIdsContext } from '../engine/plugins/erasing/erasure_tools.ts';
import { pluginConfigContext } from '../engine/plugins/stored_config.ts';
import { responseContext } from '../platform/http/idempotency.ts';
import { mailContext } from '../platform/mail/attempt_mail.ts';
import type { SealedField } from '../platform/secrets/rewrap.ts';
import { server_keys_context } from '../platform/secrets/server_keys.ts';

/**
 * All columns with envelopes, one line each. Exports come before their runs, which copy their
 * envelopes.
 */
export const sealed_fields: readonly SealedField[] = [
  { table: 'server_keys', id: 'id', field: 'sealed', context: () => server_keys_context },
  { table: 'users', id: 'id', field: 'totp_secret', context: (id) => totpSealContext(Number(id)) },
  { table: 'connections', id: 'id', field: 'destination_secrets', context: connectionContext },
  { table: 'batch_exports', id: 'id', field: 'destination_secrets', context: secretsContext },
  {
    table: 'batch_export_runs',
    id: 'id',
    field: 'destination_secrets',
    owner: 'batch_export_id',
    context: secretsContext,
  },
  {
    table: 'batch_export_leftovers',
    id: 'run_id',
    field: 'destination_secrets',
    owner: 'batch_export_id',
    context: secretsContext,
  },
  { table: 'notice_targets', id: 'id', field: 'secret', context: secretContext },
  { table: 'notice_targets', id: 'id', field: 'url_sealed', context: urlContext },
  { table: 'plugins', id: 'id', field: 'origin', context: (id) => pluginOriginContext(Number(id)) },
  {
    table: 'plugin_configs',
    id: 'id',
    field: 'config_secrets',
    context: (id) => pluginConfigContext(Number(id)),
  },
  {
    table: 'oauth_applications',
    id: 'id',
    field: 'client_secret_sealed',
    context: applicationContext,
  },
  {
    table: 'plugin_oauth_connections',
    id: 'plugin_config_id',
    field: 'tokens_sealed',
    context: (id) => tokensContext(Number(id)),
  },
  { table: 'erasure_tools', id: 'id', field: 'ids_sealed', context: toolIdsContext },
  { table: 'ingestion_rule_sets', id: 'team_id', field: 'hash_key', context: hashKeyContext },
  { table: 'configuration_plans', id: 'id', field: 'request_sealed', context: planContext },
  { table: 'erasures', id: 'id', field: 'criteria_sealed', context: criteriaContext },
  { table: 'mails', id: 'id', field: 'message_sealed', context: mailContext },
  { table: 'idempotency_keys', id: 'claim_id', field: 'response_sealed', context: responseContext },
  {
    table: 'service_idempotency_keys',
    id: 'claim_id',
    field: 'response_sealed',
    context: responseContext,
  },
];
