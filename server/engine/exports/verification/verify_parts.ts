import type { DestinationDefinition } from '../../model/destination/destination.ts';
import type { WriteRule } from '../../model/destination/write_mode.ts';

/**
 * The halves of `verify` of an export; undefined where all deliveries are compared at once. A merge
 * changes what earlier deliveries wrote, so none has objects of its own.
 */
export function verifyPartsOf(
  { verify_parts }: Pick<DestinationDefinition, 'verify_parts'>,
  rule: WriteRule | null | undefined,
): DestinationDefinition['verify_parts'] {
  return rule?.mode === 'merge' ? undefined : verify_parts;
}
