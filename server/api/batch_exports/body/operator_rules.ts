import type { OperatorRules } from '../../../engine/model/destination/destination.ts';
import type { Engine } from '../../../engine/exports/engine.ts';
import { externalIdOf } from '../../../engine/destinations/object_store/aws_role.ts';

/** Returns the operator's rules for an organization. */
export function rulesFor(
  { has_environment_credentials, aws_roles }: Engine,
  organization_id: string,
): OperatorRules {
  return {
    has_environment_credentials,
    aws_roles,
    aws_external_id: externalIdOf(organization_id),
  };
}
