/** A part of a JSON schema, or of the document. */
export type Json = { [keyword: string]: unknown };

type Response = { content?: Record<string, { schema?: Json }> };
/** A response or parameter, or a reference to a component. */
type Referred<Part> = Part | { $ref: string };
/** The document's description of one operation. */
export type Operation = { responses: Record<string, Referred<Response>> };

/** The parts of an OpenAPI document that the check of answers needs. */
export type Document = {
  paths: Record<string, Record<string, Operation>>;
  components?: { schemas?: Record<string, Json>; [place: string]: object | undefined };
};

/** Returns the part itself, if the document has it among its components. */
export function resolved<Part extends object>(
  { components = {} }: Pick<Document, 'components'>,
  part: Referred<Part>,
): Part {
  if (!('$ref' in part)) return part;
  const [place = '', name = ''] = part.$ref.split('/').slice(2);
  return (components[place] as Record<string, Part>)[name]!;
}
