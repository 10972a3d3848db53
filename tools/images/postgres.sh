#!/bin/bash
# Starts PostgreSQL; a new data folder becomes a database of POSTGRES_USER first, as in the published image.
set -eu

as_postgres() { setpriv --reuid=postgres --regid=postgres --init-groups "$@"; }

install --directory --owner=postgres --group=postgres --mode=0700 "$PGDATA"
install --directory --owner=postgres --group=postgres --mode=2775 /var/run/postgresql

if [ ! -s "$PGDATA/PG_VERSION" ]; then
  password=$(as_postgres mktemp)
  printf '%s\n' "$POSTGRES_PASSWORD" >"$password"
  as_postgres initdb --username="$POSTGRES_USER" --pwfile="$password" --locale=C.UTF-8 \
    --auth-local=trust --auth-host=scram-sha-256
  rm "$password"
  echo 'host all all all scram-sha-256' >>"$PGDATA/pg_hba.conf"
  as_postgres pg_ctl --options='-c listen_addresses=' --wait start
  [ "$POSTGRES_USER" = postgres ] || as_postgres createdb --username="$POSTGRES_USER" "$POSTGRES_USER"
  as_postgres pg_ctl --mode=fast --wait stop
fi

exec setpriv --reuid=postgres --regid=postgres --init-groups "$@" -c 'listen_addresses=*'
