/** Validators of any library that follows Standard Schema (zod, valibot, arktype, …). */

import { InvalidError } from "./errors";

/** The part of Standard Schema (https://standardschema.dev) that is used here. */
export interface StandardSchema<Input = unknown, Output = Input> {
  readonly "~standard": {
    readonly version: 1;
    readonly vendor: string;
    readonly validate: (value: unknown) => SchemaResult<Output> | Promise<SchemaResult<Output>>;
    readonly types?: { readonly input: Input; readonly output: Output } | undefined;
  };
}

export type SchemaResult<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: readonly SchemaIssue[] };

export interface SchemaIssue {
  readonly message: string;
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
}

/** The value as the schema gives it back; an `InvalidError` names all fields that are wrong. */
export async function validate<Output>(
  schema: StandardSchema<unknown, Output>,
  value: unknown,
  what: string,
): Promise<Output> {
  const result = await schema["~standard"].validate(value);
  if (result.issues === undefined) return result.value;
  throw new InvalidError(`${what}: ${result.issues.map(told).join("; ")}`);
}

function told({ message, path = [] }: SchemaIssue): string {
  const names = path.map((part) => String(typeof part === "object" ? part.key : part));
  return names.length === 0 ? message : `${names.join(".")}: ${message}`;
}
