#!/bin/sh
# Makes Temporal's two databases, or brings them up to this version's schema. Safe to repeat.
# The connection is in SQL_PLUGIN, SQL_HOST, SQL_PORT, SQL_USER and SQL_PASSWORD.
set -eu

for database in temporal temporal_visibility; do
  schema=${database#temporal_}
  temporal-sql-tool --database "$database" create
  temporal-sql-tool --database "$database" setup-schema --version 0.0
  temporal-sql-tool --database "$database" update-schema --schema-name "postgresql/v12/$schema"
done
