import { z } from 'zod';
import { durationMs } from '../../api/index.ts';

/** How git may fetch a source. `ssh` also allows `git@host:path`. */
const GIT_TRANSPORTS = ['https', 'ssh', 'http', 'git'] as const;
export type GitTransport = (typeof GIT_TRANSPORTS)[number];

const text = z.string().trim().min(1, 'is empty; write a value, or leave the option out');

/** Excludes only what can be no image; the container runtime reports the rest. */
const imageName = text
  .max(512, 'is longer than the 512 characters that an image name may have')
  .regex(
    /^[A-Za-z0-9][A-Za-z0-9._/:@-]*$/,
    'is not an image name; write one such as golang:1.13 or registry.example/team/golang:1.13',
  );

/** Mounted into containers, so neither the whole file system nor what belongs to the kernel. */
const hostDirectory = text
  .max(1024, 'is longer than the 1024 characters that a host directory may have')
  .regex(
    /^(\/\.*[A-Za-z0-9_+@~-][A-Za-z0-9._+@~-]*)+$/,
    'is not a host directory; write an absolute path without ".", ".." or a slash at the end, such as /opt',
  )
  .regex(/^(?!\/(proc|sys|dev)(\/|$))/, 'belongs to the kernel; write another directory, such as /opt');

export const BUILD_OPTIONS = z.object({
  buildImage: imageName.default('golang:1.13').meta({
    argument: 'image',
    description: 'image of the Jobs that build and clean up; it needs bash, git and GNU coreutils',
    docs: 'It must run as the owner of the host directory, which is usually root.',
  }),
  buildHostDir: hostDirectory.default('/opt').meta({
    argument: 'directory',
    description: 'directory on the nodes to which binaries are copied',
    docs: 'Jobs see it as `/opt`. After a change, binaries in the old directory stay there.',
  }),
  // A Job counts its deadline in whole seconds; a timer of Node cannot be longer.
  buildDeadline: durationMs({ from: '1s', to: '24d' })
    .prefault('1h')
    .meta({ description: 'how long a Job may take' }),
  buildGitTransports: z
    .array(z.enum(GIT_TRANSPORTS))
    .min(1, `is empty; write one or more of ${GIT_TRANSPORTS.join(', ')}`)
    .overwrite((chosen) => GIT_TRANSPORTS.filter((each) => chosen.includes(each)))
    .default(['https', 'ssh'])
    .meta({
      argument: 'names',
      description: 'how git may fetch sources: `https`, `ssh` (also as `git@host:path`), `http`, `git`',
      docs: 'It applies to submodules and redirects, too.',
    }),
});

/** The operator's options for this controller, parsed. */
export type GitBuildOptions = Readonly<z.output<typeof BUILD_OPTIONS>>;
