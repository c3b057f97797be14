/** Whether requests and answers fit an OpenAPI description. */

import assert from "node:assert/strict";

interface Schema {
  $ref?: string;
  type?: string | string[];
  properties?: Record<string, Schema>;
  required?: string[];
  items?: Schema;
  oneOf?: Schema[];
  allOf?: Schema[];
  enum?: unknown[];
}

interface Content {
  content?: Record<string, { schema: Schema }>;
}

interface Operation {
  parameters?: { name: string; in: string }[];
  requestBody?: Content;
  responses: Record<string, Content & { $ref?: string }>;
}

interface Description {
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, Schema> };
}

export class Specification {
  readonly #description: Description;

  constructor(text: string) {
    this.#description = JSON.parse(text) as Description;
  }

  checkRequest(method: string, url: URL, body: string | undefined): void {
    const operation = this.#operation(method, url);
    for (const name of url.searchParams.keys()) {
      const isKnown = operation.parameters?.some((each) => each.name === name && each.in === "query");
      assert.ok(isKnown, `${method} ${url.pathname} has no parameter "${name}"`);
    }
    const schema = operation.requestBody?.content?.["application/json"]?.schema;
    assert.equal(body !== undefined, schema !== undefined, `${method} ${url.pathname}: its body`);
    if (schema !== undefined) this.#check(schema, JSON.parse(String(body)), "body", true);
  }

  checkResponse(method: string, url: URL, status: number, text: string): void {
    const response = this.#operation(method, url).responses[status];
    assert.ok(response !== undefined, `${method} ${url.pathname} does not answer ${status}`);
    const schema = response.content?.["application/json"]?.schema;
    if (schema !== undefined) this.#check(schema, JSON.parse(text), "answer", true);
  }

  #operation(method: string, url: URL): Operation {
    const parts = url.pathname.split("/");
    for (const [path, operations] of Object.entries(this.#description.paths)) {
      const pattern = path.split("/");
      const fits = pattern.every((part, n) => part.startsWith("{") || part === parts[n]);
      const operation = operations[method];
      if (fits && pattern.length === parts.length && operation !== undefined) return operation;
    }
    assert.fail(`there is no ${method} ${url.pathname}`);
  }

  /** The schema with its references and parts put together. */
  #resolve(schema: Schema): Schema {
    if (schema.$ref !== undefined) {
      const name = String(schema.$ref.split("/").pop());
      return this.#resolve(this.#description.components.schemas[name] ?? assert.fail(name));
    }
    if (schema.allOf === undefined) return schema;
    const parts = schema.allOf.map((part) => this.#resolve(part));
    return {
      type: "object",
      properties: Object.assign({}, ...parts.map((part) => part.properties ?? {})) as Record<string, Schema>,
      required: parts.flatMap((part) => part.required ?? []),
    };
  }

  #check(unresolved: Schema, value: unknown, where: string, isStrict: boolean): void {
    const schema = this.#resolve(unresolved);
    if (schema.oneOf !== undefined) {
      const fits = schema.oneOf.some((each) => {
        try {
          this.#check(each, value, where, isStrict);
          return true;
        } catch {
          return false;
        }
      });
      assert.ok(fits, `${where} fits none of its schemas: ${JSON.stringify(value)}`);
      return;
    }
    if (schema.type !== undefined) {
      const types = [schema.type].flat();
      const type = value === null ? "null" : Array.isArray(value) ? "array" : typeof value;
      const isOk = types.some((each) => (each === "integer" ? Number.isInteger(value) : each === type));
      assert.ok(isOk, `${where} is ${type} and not ${types.join(" or ")}`);
    }
    if (Array.isArray(value)) {
      value.forEach((item, n) => schema.items && this.#check(schema.items, item, `${where}[${n}]`, isStrict));
    } else if (typeof value === "object" && value !== null && schema.properties !== undefined) {
      for (const name of schema.required ?? []) assert.ok(name in value, `${where}.${name} is missing`);
      for (const [name, item] of Object.entries(value)) {
        const property = schema.properties[name];
        assert.ok(property !== undefined || !isStrict, `${where}.${name} is not described`);
        if (property !== undefined) this.#check(property, item, `${where}.${name}`, isStrict);
      }
    }
  }
}
