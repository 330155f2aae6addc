import { Type } from 'typebox';
import { instant } from '../../../platform/http/schemas.ts';

/** The query of `receipts/`. */
export const ReceiptsQuery = Type.Object({
  after: Type.Optional(instant('Only deliveries whose data interval ends after it.')),
  before: Type.Optional(instant('Only deliveries whose data interval begins before it.')),
});
