#!/usr/bin/env bash
# Usage: export.sh <first day> <day after the last>
set -eu

sluice exports create 'Events to S3' --to s3 --every hour --test -c \
  "bucket_name=$BUCKET" \
  "region=$REGION" \
  prefix=events/day={year}-{month}-{day} \
  "aws_access_key_id=$AWS_ACCESS_KEY_ID" \
  "aws_secret_access_key=$AWS_SECRET_ACCESS_KEY" \
  file_format=Parquet \
  compression=zstd \
  ${S3_ENDPOINT:+"endpoint_url=$S3_ENDPOINT"}

sluice exports backfill 'Events to S3' --from "$1" --to "$2" --wait
sluice runs list 'Events to S3'
