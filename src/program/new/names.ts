import { parse, type AnyNode, type ArrayExpression } from 'acorn';

/** What a new controller is called. */
export interface Names {
  /** Of the program: `website-operator`. */
  readonly program: string;
  /** `example.com` */
  readonly group: string;
  /** In CamelCase: `ImageScan`. */
  readonly kind: string;
}

/** `ImageScan` → `image-scan` */
export function kebabCase(kind: string): string {
  return kind.replaceAll(/(?<=[a-z0-9])(?=[A-Z])/g, '-').toLowerCase();
}

/** `imageScanController`: no word of the language, and no other name of the template, ends like this. */
function variableOf(kind: string): string {
  return `${kind.charAt(0).toLowerCase()}${kind.slice(1)}Controller`;
}

/** A text of the template, in which all is called after a kind `Website`. */
export function renamed(text: string, { program, group, kind }: Names): string {
  const names: Readonly<Record<string, string>> = {
    'my-operator': program,
    'example.com': group,
    websiteController: variableOf(kind),
    Website: kind,
    website: kebabCase(kind),
  };
  // At once: a new name may contain one that is replaced.
  return text.replaceAll(new RegExp(Object.keys(names).join('|'), 'g'), (name) => names[name] ?? name);
}

/** What a controller adds to the main module. */
export function addition({ kind }: Pick<Names, 'kind'>) {
  const variable = variableOf(kind);
  return { variable, imported: `import { ${variable} } from './${kebabCase(kind)}.ts';` };
}

/** A main module with one more controller. Undefined: it has no list of controllers that can be changed. */
export function withController(main: string, names: Pick<Names, 'kind'>): string | undefined {
  const nodes = nodesOf(main);
  const [list, another] = nodes.flatMap(controllersIn);
  if (list === undefined || another !== undefined) return undefined;
  const { variable, imported } = addition(names);
  const lastImport = nodes.findLast(({ type }) => type === 'ImportDeclaration')?.end ?? 0;
  const last = list.elements.at(-1);
  const at = last?.end ?? list.start + 1;
  return [
    ...[main.slice(0, lastImport), `\n${imported}`, main.slice(lastImport, at)],
    ...[last ? `, ${variable}` : variable, main.slice(at)],
  ].join('');
}

/** Of a module that acorn cannot read, such as one with types: none. */
function nodesOf(module: string): readonly AnyNode[] {
  try {
    return [...nodesIn(parse(module, { ecmaVersion: 'latest', sourceType: 'module' }))];
  } catch {
    return [];
  }
}

function* nodesIn(value: unknown): Generator<AnyNode> {
  if (typeof value !== 'object' || value === null) return;
  // ESTree: every object with a type is a node.
  if ('type' in value) yield value as AnyNode;
  for (const each of Object.values(value)) yield* nodesIn(each);
}

/** The list in `operator({ controllers: [...] })`. */
function controllersIn(node: AnyNode): readonly ArrayExpression[] {
  if (node.type !== 'CallExpression' || node.callee.type !== 'Identifier') return [];
  const [options] = node.arguments;
  if (node.callee.name !== 'operator' || options?.type !== 'ObjectExpression') return [];
  return options.properties.flatMap((each) =>
    each.type === 'Property' &&
    each.key.type === 'Identifier' &&
    each.key.name === 'controllers' &&
    each.value.type === 'ArrayExpression'
      ? [each.value]
      : [],
  );
}
