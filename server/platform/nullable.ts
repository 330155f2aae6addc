import { Type } from 'typebox';
import type { Static, TSchema, TUnsafe } from 'typebox';

/**
 * Adds null to the schema as one `type` list, so that an error names the field and not the branches
 * of a union.
 */
export function nullable<Schema extends TSchema>(schema: Schema): TUnsafe<Static<Schema> | null> {
  const plain = { ...schema } as { type?: string | string[]; enum?: unknown[] };
  const widened = {
    ...plain,
    ...(plain.type === undefined ? {} : { type: [...new Set([plain.type, 'null'].flat())] }),
    ...(plain.enum === undefined ? {} : { enum: [...new Set([...plain.enum, null])] }),
  };
  return Type.Unsafe<Static<Schema> | null>(widened);
}
