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

function variableOf(kind: string): string {
  return kind.charAt(0).toLowerCase() + kind.slice(1);
}

/**
 * A text of the template, in which all is called after a kind `Website`. Where `website` is a name of the code, and not of a file or
 * of the controller, it becomes `imageScan`.
 */
export function renamed(text: string, { program, group, kind }: Names): string {
  return text
    .replaceAll('my-operator', program)
    .replaceAll('example.com', group)
    .replaceAll('Website', kind)
    .replaceAll(/(?<![\w'/-])website(?![\w'.-])/g, variableOf(kind))
    .replaceAll('website', kebabCase(kind));
}

/** A main module with one more controller. */
export function withController(main: string, { kind }: Names): string {
  const variable = variableOf(kind);
  const imported = `import { ${variable} } from './${kebabCase(kind)}.ts';\n`;
  return main
    .replace(/controllers: \[([^\]]*)\]/, (_, others: string) => `controllers: [${others}, ${variable}]`)
    .replace(/(^import [^\n]*\n)(?!import )/m, (last) => `${last}${imported}`);
}
