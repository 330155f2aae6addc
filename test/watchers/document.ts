/** A part of a JSON schema, or of the document. */
export type Json = { [keyword: string]: unknown };

type Response = { content?: Record<string, { schema?: Json }> };
/** What the document says of one operation. */
export type Operation = { responses: Record<string, Response> };

/** What the check of answers needs of an OpenAPI document. */
export type Document = {
  paths: Record<string, Record<string, Operation>>;
  components?: { schemas?: Record<string, Json> };
};
