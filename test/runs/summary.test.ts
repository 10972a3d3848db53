import { describe, expect, it } from '@jest/globals';
import { randomBytes } from 'node:crypto';
import { defaultPayloadConverter } from '@temporalio/common';
import { temporal } from '@temporalio/proto';
import { asSummary } from '../../src/api/text.ts';
import { payloadEncryption } from '../../src/temporal/data-converter.ts';
import { parsePayloadKeys } from '../../src/temporal/payload-keys.ts';
import { startOptionsFor } from '../../src/temporal/runs.ts';

/** Source: `limit.userMetadataSummarySize` of temporal/common/dynamicconfig. */
const TEMPORAL_TAKES_BYTES = 400;

const LONGEST_KEY_ID = 'k'.repeat(63);
const keys = parsePayloadKeys(`${LONGEST_KEY_ID} ${randomBytes(32).toString('base64')}`);

async function encryptedBytesOf(summary: string): Promise<number> {
  const [payload] = await payloadEncryption(keys).encode([defaultPayloadConverter.toPayload(summary)]);
  return temporal.api.common.v1.Payload.encode(payload ?? {}).finish().length;
}

describe('a summary', () => {
  it.each(['a', '…', '😀', '"', '\u0001'])(
    'is one that Temporal takes, encrypted with the longest key ID, of %j',
    async (character) => {
      const summary = asSummary(character.repeat(400));
      expect(summary).toMatch(/…$/);
      const bytes = await encryptedBytesOf(summary);
      expect({ fits: bytes <= TEMPORAL_TAKES_BYTES, bytes }).toEqual({ fits: true, bytes });
    },
  );

  it('that is short stays as it is', () => {
    const text = 'a'.repeat(200);
    expect(asSummary(text)).toBe(text);
    expect(asSummary(`${text}a`)).toBe(`${text}…`);
  });

  it('of a run is cut, too, where the name of its resource is as long as it may be', () => {
    const ref = { controller: 'git-build', namespace: 'n'.repeat(63), name: 'x'.repeat(253), uid: 'uid-1' };
    const summary = `Xxx ${ref.namespace}/${ref.name}: builds its binary`;
    const { staticSummary } = startOptionsFor({ ref, taskQueue: 'operator', summary });
    expect(staticSummary).toBe(asSummary(summary));
  });
});
