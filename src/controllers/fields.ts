export * from '../api/fields.ts';
