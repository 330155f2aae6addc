import { Ajv } from 'ajv';
import type { ErrorObject, ValidateFunction } from 'ajv';
import type { Static, TSchema } from 'typebox';
import { isInstant } from './instant.ts';

/** A check of a JSON value's shape; the first question compiles it. */
export type Shape<Value> = {
  is(value: unknown): value is Value;
  /**
   * Describes the first fault of a value that `is` refuses: its place (a JSON pointer) and the
   * fault.
   */
  fault(value: unknown): string;
};

// Not what checks requests: that changes the values (`trim`) and finds every fault of them.
let ajv: Ajv | undefined;

/**
 * The shape of what other programs say: a sandbox, a compiler, a sign-in provider. More properties
 * than the schema names are taken, unless it forbids them.
 */
export function shapeOf<Schema extends TSchema>(schema: Schema): Shape<Static<Schema>> {
  let compiled: ValidateFunction | undefined;
  const validate = (value: unknown): ErrorObject | undefined => {
    compiled ??= (ajv ??= openAjv()).compile(schema);
    return compiled(value) ? undefined : compiled.errors![0];
  };
  return {
    is: (value): value is Static<Schema> => validate(value) === undefined,
    fault: (value) => {
      const error = validate(value);
      return error === undefined ? '' : `${error.instancePath} ${error.message}`;
    },
  };
}

function openAjv(): Ajv {
  return new Ajv({
    // The schemas are ours and TypeBox's: no other ones are to be found wrong.
    meta: false,
    validateSchema: false,
    strictTuples: false,
    ownProperties: true,
    formats: { 'date-time': isInstant },
  });
}
