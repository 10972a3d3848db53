import type { z } from 'zod';
import { misnamed, refuse } from './limits.ts';

/** What else a definition may follow from. */
export interface OperatorScope {
  /** The namespaces that the operator watches. Empty: all. */
  readonly namespaces: readonly string[];
}

/** How a definition follows from its options: a member of it, which the library reads. */
export interface FollowsOptions {
  /** @param values of the options */
  define(values: unknown, scope: OperatorScope): object;
  /** As it was made of the defaults. */
  readonly byDefault: object;
}

/**
 * A controller whose definition itself follows from its options, such as its rights, what it watches, or its `view`. Where only functions need
 * an option that are given `options` anyway, write `options` in {@link defineController} instead.
 *
 * @param options as in `options` of {@link defineController}
 * @param define makes the definition. It is asked with the defaults first, then with what the operator has: `name`, `for` and `finalizer` stay the same
 * @returns the definition with the defaults; an operator runs it with its options
 * @throws Error in one sentence where an option has no default and is not optional, or a name is out of its limits
 * @example
 * const teamQuota = withOptions(z.object({ quotaName: z.string().default('team') }), ({ quotaName }) =>
 *   defineController({
 *     name: 'team-quota',
 *     for: { ...NAMESPACES, metadataOnly: true },
 *     view: () => 'there',
 *     owns: [
 *       {
 *         ...{ ...RESOURCE_QUOTAS, metadataOnly: true, view: () => 'there' },
 *         nameFor: ({ name }) => ({ namespace: name, name: quotaName }),
 *         ownerOf: ({ metadata: { namespace = '' } }) => ({ name: namespace }),
 *       },
 *     ],
 *     steps: {},
 *     decide: ({ owned: [quota] }, next) => next.converged(quota ?? `there is no ${quotaName}`),
 *   }),
 * );
 */
export function withOptions<Options extends z.ZodObject, D extends { readonly name: string }>(
  options: Options,
  define: (values: z.output<Options>, scope: OperatorScope) => D,
): D {
  const { data, error } = options.safeParse({});
  const [unset] = error?.issues.map(({ path }) => path.join('.')) ?? [];
  const names = Object.keys(options.shape);
  refuse('withOptions', [
    ...names.map((name) => misnamed('option', name)),
    unset !== undefined && `the option ${unset} needs a default, or has to be optional`,
  ]);
  const byDefault = define(data as z.output<Options>, { namespaces: [] });
  const following: FollowsOptions = { define, byDefault };
  return { ...byDefault, options, following };
}
