import { Ajv } from 'ajv';
import type { ErrorObject, ValidateFunction } from 'ajv';
import type { Static, TSchema } from 'typebox';
import { isInstant } from './instant.ts';

/** A check of a JSON value's shape; the first call compiles it. */
export type Shape<Value> = {
  is(value: unknown): value is Value;
  /**
   * Describes the first fault of a value that `is` refuses: its place (a JSON pointer) and the
   * fault.
   */
  fault(value: unknown): string;
};

// A separate instance: the one for requests changes the values (`trim`) and finds every fault of
// them.
let ajv: Ajv | undefined;

/**
 * Returns the shape of untrusted data from other programs: a sandbox, a compiler, a sign-in
 * provider. It accepts further properties, unless the schema forbids them.
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
    // The schemas come from our code and TypeBox, so they need no check.
    meta: false,
    validateSchema: false,
    strictTuples: false,
    ownProperties: true,
    formats: { 'date-time': isInstant },
  });
}
