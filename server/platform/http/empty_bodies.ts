/** The parts of a body's schema, or of a branch, that decide about an empty body. */
type BodySchema = {
  type?: unknown;
  required?: unknown;
  anyOf?: BodySchema[];
  oneOf?: BodySchema[];
  /** For our own routes: rules outside the schema refuse an empty body from every caller. */
  refuses_empty?: boolean;
};

type Described = {
  requestBody?: { required?: boolean; content: Record<string, { schema?: BodySchema }> };
};

/**
 * Marks the body of each operation as required exactly if an empty request is refused; an absent
 * body counts as an empty object.
 */
export function declareEmptyBodies(paths: Record<string, Record<string, unknown>>): void {
  for (const operations of Object.values(paths))
    for (const { requestBody } of Object.values(operations) as Described[])
      if (requestBody !== undefined)
        requestBody.required = Object.values(requestBody.content).every(
          ({ schema }) => schema !== undefined && refusesEmpty(schema),
        );
}

function refusesEmpty(schema: BodySchema): boolean {
  const branches = schema.anyOf ?? schema.oneOf;
  if (branches !== undefined) return branches.every(refusesEmpty);
  if (schema.refuses_empty === true || schema.type === 'array') return true;
  return Array.isArray(schema.required) && schema.required.length > 0;
}
