import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { appendFile, cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import packageJson from '../../package.json' with { type: 'json' };
import { chartedWithHooks, RELEASE, type Delivered } from '../support/delivered.ts';

/* Which image runs. Only Helm is needed, and no cluster. */

jest.setTimeout(1_200_000);

const { version } = packageJson;
const OWN = `sha256:${'0123456789abcdef'.repeat(4)}`;
const OTHER = `sha256:${'fedcba9876543210'.repeat(4)}`;
const VERSIONED = 'versioning.enabled=true';
/** As deploy/release.ts makes it. */
let released: string;

beforeAll(async () => {
  released = await mkdtemp(join(tmpdir(), 'durable-operator-chart-'));
  await cp(RELEASE.chart, released, { recursive: true });
  const annotations = `annotations:\n  durable-operator.dev/image-digest: ${OWN}\n`;
  await appendFile(join(released, 'Chart.yaml'), annotations);
});
afterAll(() => rm(released, { recursive: true }));

/** Of all Deployments and Jobs. */
async function images(chart: string, values: readonly string[]): Promise<ReadonlySet<string>> {
  const objects = await chartedWithHooks(values, { chart });
  return new Set(objects.flatMap(imagesIn));
}

function imagesIn(object: Delivered): string[] {
  const found = JSON.stringify(object['spec'] ?? {}).matchAll(/"image":"([^"]*)"/g);
  return [...found].map(([, image = '']) => image);
}

describe('the chart that a release has made', () => {
  it.each([
    [[], `:${version}@${OWN}`],
    [[VERSIONED], `:${version}@${OWN}`],
    // The digest of the chart is that of another tag.
    [['image.tag=9.9.9'], ':9.9.9'],
    [['image.tag=9.9.9', `image.digest=${OTHER}`], `:9.9.9@${OTHER}`],
    // Nobody knows its tag.
    [[`image.digest=${OTHER}`], `@${OTHER}`],
  ])('runs, with %j, the image %s', async (values, image) => {
    expect([...(await images(released, values))]).toEqual([`durable-operator${image}`]);
  });

  it('runs its own version by digest beside a later one, too', async () => {
    const values = [VERSIONED, 'image.tag=9.9.9', `versioning.previous={${version}}`];
    const both = ['durable-operator:9.9.9', `durable-operator:${version}@${OWN}`];
    expect(await images(released, values)).toEqual(new Set(both));
  });

  it('refuses the digest of another image under its own build ID', async () => {
    for (const values of [[`image.digest=${OTHER}`], [`image.digest=${OTHER}`, `image.tag=${version}`]]) {
      const refused = images(released, [VERSIONED, ...values]);
      await expect(refused).rejects.toThrow(`image.digest is not that of tag ${version}`);
    }
  });
});

describe('the chart of the repository', () => {
  it('runs the image with its version as the tag, without a "v"', async () => {
    expect([...(await images(RELEASE.chart, []))]).toEqual([`durable-operator:${version}`]);
  });

  it('refuses a digest without a tag where the tag is the build ID', async () => {
    const refused = images(RELEASE.chart, [VERSIONED, `image.digest=${OTHER}`]);
    await expect(refused).rejects.toThrow('set image.tag to the tag of this image');
  });

  it('refuses the same version twice', async () => {
    const refused = images(RELEASE.chart, [VERSIONED, `versioning.previous={${version}}`]);
    await expect(refused).rejects.toThrow(`versioning.previous has ${version}`);
  });
});
