import { Type } from 'typebox';
import { queryInstant } from '../../../platform/http/lists/query_instant.ts';

export const ReceiptsQuery = Type.Object({
  after: Type.Optional(queryInstant('Only deliveries whose data interval ends after it.')),
  before: Type.Optional(queryInstant('Only deliveries whose data interval begins before it.')),
});
