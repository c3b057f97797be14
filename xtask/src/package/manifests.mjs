// Checks the manifests given as arguments: those of Kubernetes and KEDA against the schemas of their
// kinds, a compose file and workflows for names in them that nothing has.

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";

const require = createRequire(join(process.cwd(), "package.json"));
const { parse, parseAllDocuments } = require("yaml");

function kindOf({ apiVersion, kind }) {
  const name = apiVersion.startsWith("keda.sh/") ? "@kubernetes-models/keda" : "kubernetes-models";
  return require(`${name}/${apiVersion}/${kind}`)[kind];
}

function checkKubernetes(path, text) {
  for (const document of parseAllDocuments(text)) {
    if (document.errors.length > 0) throw document.errors[0];
    const manifest = document.toJS();
    const Kind = kindOf(manifest);
    try {
      new Kind(manifest).validate();
    } catch (error) {
      throw new Error(`${path}: ${manifest.kind} ${manifest.metadata?.name}: ${error.message}`);
    }
    console.log(`${path}: ${manifest.kind} ${manifest.metadata.name}`);
  }
}

function checkCompose(path, text) {
  const { services, configs = {}, volumes = {} } = parse(text, { merge: true });
  const known = (names, name, what) => {
    if (!(name in names)) throw new Error(`${path}: ${what} names "${name}", which is not there`);
  };
  for (const [name, service] of Object.entries(services)) {
    if (!service.image) throw new Error(`${path}: ${name} has no image`);
    for (const other of service.depends_on ?? []) known(services, other, `depends_on of ${name}`);
    for (const { source } of service.configs ?? []) known(configs, source, `configs of ${name}`);
    for (const volume of service.volumes ?? []) {
      known(volumes, volume.split(":")[0], `volumes of ${name}`);
    }
  }
  for (const { file } of Object.values(configs)) {
    if (file !== undefined) readFileSync(join(dirname(path), file));
  }
  console.log(`${path}: ${Object.keys(services).length} services`);
}

function checkWorkflow(path, text) {
  const { jobs } = parse(text);
  for (const [name, { needs = [], steps, "runs-on": runsOn }] of Object.entries(jobs)) {
    if (!runsOn) throw new Error(`${path}: ${name} runs nowhere`);
    for (const other of [needs].flat()) {
      if (!(other in jobs)) throw new Error(`${path}: ${name} needs "${other}", which is not there`);
    }
    for (const { run, uses } of steps) {
      if ((run === undefined) === (uses === undefined)) {
        throw new Error(`${path}: a step of ${name} has to run or to use something`);
      }
    }
  }
  console.log(`${path}: ${Object.keys(jobs).length} jobs`);
}

for (const path of process.argv.slice(2)) {
  const text = readFileSync(path, "utf8");
  if (path.endsWith("compose.yaml")) checkCompose(path, text);
  else if (path.includes("/workflows/")) checkWorkflow(path, text);
  else checkKubernetes(path, text);
}
