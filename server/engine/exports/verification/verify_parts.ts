import type { DestinationDefinition } from '../../model/destination/destination.ts';
import type { WriteRule } from '../../model/destination/write_mode.ts';

/**
 * Returns the halves of `verify` of an export; undefined if all deliveries are compared at once. A
 * merge changes rows of earlier deliveries, so no delivery has its own objects.
 */
export function verifyPartsOf(
  { verify_parts }: Pick<DestinationDefinition, 'verify_parts'>,
  rule: WriteRule | null | undefined,
): DestinationDefinition['verify_parts'] {
  return rule?.mode === 'merge' ? undefined : verify_parts;
}
