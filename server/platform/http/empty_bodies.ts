/** A body's schema, or a branch of it, as far as an empty body is concerned. */
type BodySchema = {
  type?: unknown;
  required?: unknown;
  anyOf?: BodySchema[];
  oneOf?: BodySchema[];
  /** For our own routes: rules beside the schema refuse an empty body from every caller. */
  refuses_empty?: boolean;
};

type Described = {
  requestBody?: { required?: boolean; content: Record<string, { schema?: BodySchema }> };
};

/**
 * Says of each operation of the document that its body is required where an empty request is
 * refused, and nowhere else: no body is an empty object.
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
