/**
 * Checks for data from outside. A shape is a function from an unknown value and its path to a typed value; it throws a
 * `Problem` that names the path. The types of the report are inferred from its shapes, so the two cannot disagree.
 */
export type Shape<T> = (value: unknown, path: string) => T;
export type Infer<S> = S extends Shape<infer T> ? T : never;

export class Problem extends Error {}

function fail(path: string, expected: string, value: unknown): never {
  const found = value === null ? 'null' : Array.isArray(value) ? 'a list' : `a ${typeof value}`;
  throw new Problem(`${path || 'the report'} should be ${expected} and is ${found}`);
}

export const text: Shape<string> = (value, path) =>
  typeof value === 'string' ? value : fail(path, 'text', value);

export const num: Shape<number> = (value, path) =>
  typeof value === 'number' ? value : fail(path, 'a number', value);

export const anything: Shape<unknown> = value => value;

export const bool: Shape<boolean> = (value, path) =>
  typeof value === 'boolean' ? value : fail(path, 'true or false', value);

/** null, and absent, mean unknown. */
export function maybe<T>(shape: Shape<T>): Shape<T | null> {
  return (value, path) => (value === undefined || value === null ? null : shape(value, path));
}

export function withDefault<T>(shape: Shape<T>, missing: T): Shape<T> {
  return (value, path) => (value === undefined ? missing : shape(value, path));
}

export function list<T>(shape: Shape<T>): Shape<readonly T[]> {
  return (value, path) =>
    Array.isArray(value)
      ? value.map((item: unknown, index) => shape(item, `${path}[${index}]`))
      : fail(path, 'a list', value);
}

function entriesOf(value: unknown, path: string): [string, unknown][] {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    return fail(path, 'a record', value);
  }
  return Object.entries(value);
}

/** A record, or a list of its fields in their order, as the compact form of a report writes it. */
export function record<F extends Record<string, Shape<unknown>>>(
  fields: F
): Shape<{ readonly [K in keyof F]: Infer<F[K]> }> {
  const shapes = Object.entries(fields);
  return (value, path) => {
    // A Map, because a name such as "constructor" must not be found on Object.prototype.
    const found = Array.isArray(value)
      ? new Map(value.map((item: unknown, index) => [shapes[index]?.[0], item]))
      : new Map<string | undefined, unknown>(entriesOf(value, path));
    const checked = shapes.map(([name, shape]): [string, unknown] => [
      name,
      shape(found.get(name), path ? `${path}.${name}` : name)
    ]);
    return Object.fromEntries(checked) as { readonly [K in keyof F]: Infer<F[K]> };
  };
}

/** A record of texts by any name. */
export const strings: Shape<Readonly<Record<string, string>>> = (value, path) =>
  Object.fromEntries(
    entriesOf(value, path).map(([name, item]): [string, string] => [name, text(item, `${path}.${name}`)])
  );

/** A record of anything, to be shown as names and values. */
export const pairs: Shape<Readonly<Record<string, unknown>>> = (value, path) =>
  Object.fromEntries(entriesOf(value, path));
