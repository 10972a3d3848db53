/**
 * What everything has that is installed, save for the CustomResourceDefinitions: with a selector, one can take the
 * operator away and leave them, and with them all resources.
 */
export const LABELS = { 'app.kubernetes.io/name': 'durable-operator' } as const;
