#!/bin/bash
# In place of the start script of the image postgres: makes the user, its database and its password in a new folder.
set -eu
PATH=/usr/lib/postgresql/17/bin:$PATH
as_postgres() { setpriv --reuid=postgres --regid=postgres --clear-groups "$@"; }

install --directory --owner=postgres --group=postgres --mode=0700 "$PGDATA" /run/postgresql
if [ ! -s "$PGDATA/PG_VERSION" ]; then
  echo "$POSTGRES_PASSWORD" >/tmp/password
  as_postgres initdb --username="$POSTGRES_USER" --auth-host=scram-sha-256 --pwfile=/tmp/password
  echo "CREATE DATABASE $POSTGRES_USER" | as_postgres postgres --single -D "$PGDATA" postgres
  echo 'host all all all scram-sha-256' >>"$PGDATA/pg_hba.conf"
fi
exec setpriv --reuid=postgres --regid=postgres --clear-groups postgres -c 'listen_addresses=*'
