import { describe, expect, it } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { alertRules } from '../deploy/monitoring/alerts.ts';

const page = readFileSync(join(import.meta.dirname, '../docs/operating.md'), 'utf8');

describe('docs/operating.md', () => {
  it('says of every alert what to do, and of no other', () => {
    const [, alerts = ''] = page.split('\n## Alerts\n');
    const headings = [...alerts.matchAll(/^### (.*)$/gm)].map(([, heading = '']) => heading);
    const names = alertRules.groups.flatMap(({ rules }) => rules.map(({ alert }) => alert));
    expect(headings.sort()).toEqual(names.sort());
  });
});
