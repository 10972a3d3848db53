import { describe, expect, it } from '@jest/globals';
import { howToRemoveSamples } from '../../src/local/next-steps.ts';

describe('a command to be pasted', () => {
  it('is quoted where its path needs it', () => {
    expect(howToRemoveSamples('/home/a/config')).toContain(' KUBECONFIG=/home/a/config kubectl ');
    expect(howToRemoveSamples("/home/it's me/config")).toContain(
      String.raw` KUBECONFIG='/home/it'\''s me/config' kubectl `,
    );
  });

  it('names no kubeconfig where kubectl finds it by itself', () => {
    expect(howToRemoveSamples(undefined)).not.toContain('KUBECONFIG');
  });
});
