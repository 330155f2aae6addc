/**
 * Returns the error of a COMMIT that the server answers with ROLLBACK: the transaction had failed
 * before.
 */
export function rolledBackError(): Error {
  return Object.assign(new Error('the transaction had failed before its commit'), {
    code: '40000',
    severity: 'ERROR',
  });
}
