import { lasting, ofRow, passing } from '../../model/destination/faults.ts';
import { postgresError } from '../sql_tables/postgres/faults.ts';
import type { OwnFaults } from '../sql_tables/postgres/faults.ts';
import { server_faults } from '../sql_tables/server_faults.ts';

const value = ofRow(
  'value_refused',
  'The table refuses a value (%). Change the type of the column, or let the export create ' +
    'the table with the properties_data_type super.',
);
const bucket_denied = lasting(
  'permission_denied',
  'The cluster may not read the bucket (%). Check iam_role, or the access key: it needs ' +
    's3:GetObject and s3:ListBucket.',
);

/** Redshift gives most of its own faults the SQLSTATE XX000, so the message distinguishes them. */
const own: OwnFaults = {
  by_message: [
    [
      /S3ServiceException.*(Access ?Denied|InvalidAccessKeyId|SignatureDoesNotMatch|InvalidToken|ExpiredToken)/is,
      bucket_denied,
    ],
    [
      /not authorized to (assume|get credentials)|UnauthorizedException|role .* (does not exist|is not attached)/is,
      bucket_denied,
    ],
    [
      /PermanentRedirect|must be addressed using the specified endpoint/i,
      lasting('wrong_region', 'The bucket is in another region; check the key region.'),
    ],
    [
      /NoSuchKey|mandatory file|(manifest|file|prefix|object)\b.* (does not exist|not found)/is,
      passing(
        'slice_lost',
        'A staged object was deleted before it was loaded; Sluice creates it again. A lifecycle ' +
          'rule of the bucket may delete objects too early.',
      ),
    ],
    [/Load into table .* failed|(stl|sys)_load_error/i, value],
    [
      /value too long for (character )?type|exceeds DDL length|Missing data for not-null field/i,
      value,
    ],
    [/invalid (json|input syntax)|error parsing json|json parsing error/i, value],
    [
      // Redshift's message for a table that was dropped while the statement waited.
      /serializable isolation violation|concurrent transaction|could not open relation with OID/i,
      server_faults.conflict,
    ],
    [
      /disk full/i,
      passing(
        'disk_full',
        'The cluster has no space left (%). Sluice retries the run. Free some space.',
      ),
    ],
    [
      /too many connections|connection limit/i,
      passing('too_many_connections', 'The cluster has no free connections.'),
    ],
  ],
  by_code: {
    OTHER_SERVER: lasting(
      'not_postgres',
      'The server at this host and port is not Redshift but %; check both (the usual port ' +
        'is 5439).',
    ),
    UNHEARD: passing(
      'connection_failed',
      'The server accepted the connection and sent nothing. Check host and port, and that the ' +
        'cluster works.',
    ),
    CLOSED_UNHEARD: passing(
      'connection_lost',
      'The server accepted the connection and closed it without an answer. Check host and port ' +
        '(an HTTPS port does this), and the network between the cluster and this server.',
    ),
    '28000': lasting(
      'authentication_failed',
      'The cluster does not let this user in (%). Check user and password.',
    ),
    '42501': lasting(
      'permission_denied',
      'The user lacks a right (%). Grant USAGE on the schema, and CREATE on it ' +
        'where the tables are to be created; SELECT and INSERT on the table and on ' +
        'sluice_receipts, UPDATE on the latter for its lock and DELETE for repeats; DELETE on ' +
        'the table to merge or replace rows; TEMPORARY on the database.',
    ),
  },
};

/**
 * Translates a fault of the cluster or its connection into an error that says what to do; every
 * other error (mostly the source's) stays unchanged.
 */
export function redshiftError(error: unknown): unknown {
  return postgresError(error, own);
}
