export * from '../api/kinds.ts';
