#!/bin/sh
# Once, when the database is made: lets a standby in, and every later change wait for it.
set -e
echo 'host replication all all scram-sha-256' >> "$PGDATA/pg_hba.conf"
psql -U "$POSTGRES_USER" -c "ALTER SYSTEM SET synchronous_standby_names = '*'"
