#!/bin/sh
# Makes the Temporal namespace, once the server answers, and sets how long closed runs are kept. Safe to repeat.
# TEMPORAL_ADDRESS is the server, TEMPORAL_NAMESPACE and RETENTION are the namespace.
set -eu

until temporal operator cluster health >/dev/null 2>&1; do sleep 1; done

if temporal operator namespace describe --namespace "$TEMPORAL_NAMESPACE" >/dev/null 2>&1; then
  temporal operator namespace update --namespace "$TEMPORAL_NAMESPACE" --retention "$RETENTION"
else
  temporal operator namespace create --namespace "$TEMPORAL_NAMESPACE" --retention "$RETENTION"
fi

# A new namespace is known to every part of the server only after a moment.
until temporal workflow list --namespace "$TEMPORAL_NAMESPACE" >/dev/null 2>&1; do sleep 1; done
